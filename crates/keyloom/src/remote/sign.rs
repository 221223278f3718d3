//! AWS Signature Version 4, in request headers.

use keyloom_core::hex::Hex;
use sha2::{Digest, Sha256};

use super::Credentials;
use super::date::stamp;
use crate::mac::mac;

/// A request to be signed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unsigned<'a> {
    pub(super) service: &'a str,
    pub(super) method: &'a str,
    pub(super) host: &'a str,
    /// The path as it is sent, escaped.
    pub(super) path: &'a str,
    /// The query as it is sent: escaped, its parameters in the order of their names.
    pub(super) query: &'a str,
    /// The headers that are signed beside those that the signature itself needs: names in small letters.
    pub(super) headers: &'a [(&'a str, &'a str)],
    /// The hash of the body, in hexadecimal digits.
    pub(super) body_hash: &'a str,
}

/// The headers that sign a request: those that must be added to it.
pub(super) fn headers(
    credentials: &Credentials,
    region: &str,
    request: Unsigned<'_>,
    now_ms: u64,
) -> Vec<(&'static str, String)> {
    let Unsigned { service, method, host, path, query, body_hash, .. } = request;
    let time = stamp(now_ms);
    let day = time.get(..8).unwrap_or_default();
    let mut signed = request.headers.to_vec();
    signed.extend([("host", host), ("x-amz-date", time.as_str())]);
    if let Some(token) = &credentials.session_token {
        signed.push(("x-amz-security-token", token));
    }
    signed.sort_unstable();
    let names = signed.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
    let lines: Vec<String> = signed.iter().map(|(name, value)| format!("{name}:{value}")).collect();
    let lines = lines.join("\n");
    let canonical = format!("{method}\n{path}\n{query}\n{lines}\n\n{names}\n{body_hash}");
    let scope = format!("{day}/{region}/{service}/aws4_request");
    let to_sign = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hash(canonical.as_bytes()));
    let secret = format!("AWS4{}", credentials.secret_access_key);
    let key = [day, region, service, "aws4_request"]
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

/// The hash of a body, in hexadecimal digits.
pub(super) fn hash(body: &[u8]) -> String {
    Hex(&Sha256::digest(body)).to_string()
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

    /// AWS's published examples of signatures for S3.
    #[test]
    fn requests_to_s3_are_signed_as_in_the_documentation() {
        let credentials =
            Credentials::new("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY");
        let empty = hash(b"");
        let signature = |path, query, range: Option<&str>| {
            let mut more = vec![("x-amz-content-sha256", empty.as_str())];
            more.extend(range.map(|range| ("range", range)));
            let request = Unsigned {
                service: "s3",
                method: "GET",
                host: "examplebucket.s3.amazonaws.com",
                path,
                query,
                headers: &more,
                body_hash: &empty,
            };
            // 2013-05-24, midnight.
            let signed = headers(&credentials, "us-east-1", request, 1_369_353_600_000);
            signed[1].1.rsplit_once("Signature=").unwrap().1.to_owned()
        };
        assert_eq!(
            signature("/test.txt", "", Some("bytes=0-9")),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
        );
        assert_eq!(
            signature("/", "lifecycle=", None),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
        );
        assert_eq!(
            signature("/", "max-keys=2&prefix=J", None),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
        );
    }

    #[test]
    fn the_session_token_is_signed_and_sent() {
        let credentials = Credentials::new("AKID", "secret").with_session_token("token");
        let request = Unsigned {
            service: "dynamodb",
            method: "POST",
            host: "localhost:8000",
            path: "/",
            query: "",
            headers: &[("content-type", "application/x-amz-json-1.0"), ("x-amz-target", "t")],
            body_hash: &hash(b"{}"),
        };
        let headers = headers(&credentials, "eu-west-1", request, 0);
        assert_eq!(headers[0], ("x-amz-date", "19700101T000000Z".to_owned()));
        assert!(headers[1].1.contains(
            "Credential=AKID/19700101/eu-west-1/dynamodb/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target, Signature="
        ));
        assert_eq!(headers[2], ("x-amz-security-token", "token".to_owned()));
    }
}
