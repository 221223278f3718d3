//! Pages of a bucket's object listing.

use keyloom_engine::buckets::{Failure, Object};
use percent_encoding::percent_decode_str;

use super::super::xml::text_of;

/// A page of a listing.
#[derive(Debug, PartialEq)]
pub(super) struct Page {
    pub(super) objects: Vec<Object>,
    /// The token of the next page.
    pub(super) next: Option<String>,
}

/// Reads a page of a listing.
pub(super) fn page(text: &str) -> Result<Page, Failure> {
    if !text.contains("<ListBucketResult") {
        let said = "The S3 endpoint answered with something else than a listing";
        return Err(Failure::new("S3InternalServerError", said));
    }
    // Keys may have characters that XML cannot contain, so they were requested URL-encoded.
    let is_escaped = text_of(text, "EncodingType").as_deref() == Some("url");
    let mut objects = Vec::new();
    for part in text.split("<Contents>").skip(1) {
        let part = part.split("</Contents>").next().unwrap_or_default();
        let key = text_of(part, "Key");
        let bytes = text_of(part, "Size").and_then(|size| size.trim().parse().ok());
        let (Some(key), Some(bytes)) = (key, bytes) else { continue };
        let key = if is_escaped {
            // A plus is a space to some.
            let key = key.replace('+', " ");
            percent_decode_str(&key).decode_utf8_lossy().into_owned()
        } else {
            key
        };
        objects.push(Object { key, bytes, etag: text_of(part, "ETag") });
    }
    let is_truncated = text_of(text, "IsTruncated").as_deref() == Some("true");
    let next = text_of(text, "NextContinuationToken").filter(|_| is_truncated);
    Ok(Page { objects, next })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listings_are_read() {
        let text = "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\"><IsTruncated>true</IsTruncated>\
            <Contents><Key>a&amp;b&#x27;</Key><Size>7</Size><ETag>&quot;t&quot;</ETag></Contents>\
            <Contents><Key>c</Key><Size>0</Size></Contents>\
            <NextContinuationToken>n=</NextContinuationToken></ListBucketResult>";
        let object = |key: &str, bytes, etag: Option<&str>| Object {
            key: key.into(),
            bytes,
            etag: etag.map(Into::into),
        };
        let objects = vec![object("a&b'", 7, Some("\"t\"")), object("c", 0, None)];
        assert_eq!(page(text).unwrap(), Page { objects, next: Some("n=".into()) });
        let escaped =
            text.replace("<IsTruncated>true", "<EncodingType>url</EncodingType><IsTruncated>false");
        let escaped = escaped.replace("a&amp;b&#x27;", "a%26+b%C3%BC%2B");
        let found = page(&escaped).unwrap();
        assert_eq!((found.objects[0].key.as_str(), found.next), ("a& bü+", None));
        assert!(page("<html>").is_err());
    }
}
