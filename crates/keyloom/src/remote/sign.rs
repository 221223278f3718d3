//! AWS Signature Version 4 for one kind of request: a JSON body posted to `/`.

use keyloom_core::hex::Hex;
use sha2::{Digest, Sha256};

use super::Credentials;
use super::date::stamp;
use crate::mac::mac;

const SERVICE: &str = "dynamodb";

/// The headers that sign a request.
pub(super) fn headers(
    credentials: &Credentials,
    region: &str,
    host: &str,
    target: &str,
    body: &[u8],
    now_ms: u64,
) -> Vec<(&'static str, String)> {
    let time = stamp(now_ms);
    let day = time.get(..8).unwrap_or_default();
    let mut signed =
        vec![("content-type", "application/x-amz-json-1.0"), ("host", host), ("x-amz-date", &time)];
    if let Some(token) = &credentials.session_token {
        signed.push(("x-amz-security-token", token));
    }
    signed.push(("x-amz-target", target));
    let names = signed.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
    let lines: Vec<String> = signed.iter().map(|(name, value)| format!("{name}:{value}")).collect();
    let lines = lines.join("\n");
    let canonical = format!("POST\n/\n\n{lines}\n\n{names}\n{}", Hex(&Sha256::digest(body)));
    let scope = format!("{day}/{region}/{SERVICE}/aws4_request");
    let to_sign =
        format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", Hex(&Sha256::digest(&canonical)));
    let secret = format!("AWS4{}", credentials.secret_access_key);
    let key = [day, region, SERVICE, "aws4_request"]
        .iter()
        .fold(secret.into_bytes(), |key, part| mac(&key, part.as_bytes()));
    let signature = mac(&key, to_sign.as_bytes());
    let signature = Hex(&signature);
    let id = &credentials.access_key_id;
    let authorization = format!(
        "AWS4-HMAC-SHA256 Credential={id}/{scope}, SignedHeaders={names}, Signature={signature}"
    );
    let mut headers = vec![("x-amz-date", time.clone()), ("authorization", authorization)];
    if let Some(token) = &credentials.session_token {
        headers.push(("x-amz-security-token", token.clone()));
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signing_key_is_that_of_the_documentation() {
        // AWS's published example of key derivation.
        let parts: [&[u8]; 4] = [b"20150830", b"us-east-1", b"iam", b"aws4_request"];
        let key = parts
            .iter()
            .fold(b"AWS4wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_vec(), |key, part| {
                mac(&key, part)
            });
        assert_eq!(
            Hex(&key).to_string(),
            "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9"
        );
    }

    #[test]
    fn the_session_token_is_signed_and_sent() {
        let credentials = Credentials::new("AKID", "secret").with_session_token("token");
        let headers = headers(&credentials, "eu-west-1", "localhost:8000", "t", b"{}", 0);
        assert_eq!(headers[0], ("x-amz-date", "19700101T000000Z".to_owned()));
        assert!(headers[1].1.contains(
            "Credential=AKID/19700101/eu-west-1/dynamodb/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target, Signature="
        ));
        assert_eq!(headers[2], ("x-amz-security-token", "token".to_owned()));
    }
}
