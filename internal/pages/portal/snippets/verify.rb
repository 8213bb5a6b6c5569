require "openssl"

# Whether a delivery was signed with the secret in the last five minutes. timestamp and signature are the headers
# X-LG-Timestamp and X-LG-Signature; body is the raw body: request.body.read, before it is parsed.
def verify(secret, timestamp, signature, body, now = Time.now.to_i)
  return false unless timestamp.match?(/\A\d+\z/) && (now - timestamp.to_i).abs <= 300

  expected = "v1=" + OpenSSL::HMAC.hexdigest("SHA256", secret, "#{timestamp}.#{body}")
  OpenSSL.secure_compare(expected, signature)
end
