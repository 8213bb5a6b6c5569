require "openssl"

# Whether a delivery was signed with the secret in the last five minutes. timestamp and signature are the headers
# X-LG-Timestamp and X-LG-Signature; body is the raw body: request.body.read, before it is parsed.
def verify(secret, timestamp, signature, body, now = Time.now.to_i)
  return false if secret.to_s.empty? # it is not set, and anybody can sign with an empty one
  return false unless timestamp.to_s.b.match?(/\A\d{1,12}\z/) && (now - timestamp.to_i).abs <= 300

  expected = "v1=" + OpenSSL::HMAC.hexdigest("SHA256", secret, "#{timestamp}.#{body}")
  OpenSSL.secure_compare(expected, signature.to_s)
end
