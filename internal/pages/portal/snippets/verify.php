<?php

// Whether a delivery was signed with the secret in the last five minutes. $timestamp and $signature are the headers
// X-LG-Timestamp and X-LG-Signature; $body is the raw body: file_get_contents('php://input').
function verify(string $secret, ?string $timestamp, ?string $signature, string $body, ?int $now = null): bool
{
    if ($secret === '') { // it is not set, and anybody can sign with an empty one
        return false;
    }
    if (!ctype_digit($timestamp ?? '') || abs(($now ?? time()) - (int) $timestamp) > 300) {
        return false;
    }
    $expected = 'v1=' . hash_hmac('sha256', $timestamp . '.' . $body, $secret);
    return hash_equals($expected, $signature ?? '');
}
