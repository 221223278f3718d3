//! Buckets of S3 and compatible servers, for the exports and imports of an embedded database.
//!
//! Requests name the bucket in the path, which every such server understands. Large objects are uploaded in parts and
//! read in ranges, so that an object of any size takes the memory of one part, and a broken connection costs one
//! part.

mod client;
mod listing;
mod object;

use std::io::Read;
use std::sync::Arc;

use keyloom_engine::buckets::{
    Access, Bucket, Buckets, Closing, Encryption, Failure, Object, Upload,
};

use super::Endpoint;
use crate::error::Result;

use client::{Client, Request};
use object::{NewObject, Ranges};

/// How many keys a page of a listing has.
const PAGE: &str = "1000";

/// The buckets of an S3 endpoint.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use keyloom::remote::{Endpoint, S3Buckets};
/// use keyloom::Options;
///
/// let buckets = S3Buckets::new(Endpoint::url("http://localhost:9000"))?;
/// let options = Options { buckets: Some(Arc::new(buckets)), ..Options::default() };
/// # Ok::<(), keyloom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct S3Buckets {
    client: Arc<Client>,
}

impl S3Buckets {
    /// The buckets of an endpoint. Its credentials are those of every other endpoint; nothing is sent until a bucket is
    /// used.
    pub fn new(endpoint: Endpoint) -> Result<Self> {
        Ok(Self { client: Arc::new(Client::new(endpoint)?) })
    }
}

impl Buckets for S3Buckets {
    fn open(&self, access: &Access<'_>) -> Result<Box<dyn Bucket>, Failure> {
        Ok(Box::new(S3Bucket {
            client: Arc::clone(&self.client),
            name: access.bucket.to_owned(),
            owner: access.owner.map(str::to_owned),
            encryption: access.encryption.cloned(),
            closing: access.closing.clone(),
        }))
    }

    fn encrypts(&self) -> bool {
        true
    }

    fn takes_prefix(&self, _: &str) -> bool {
        true
    }
}

/// A bucket, and how a request uses it.
#[derive(Clone)]
struct S3Bucket {
    client: Arc<Client>,
    name: String,
    owner: Option<String>,
    encryption: Option<Encryption>,
    closing: Closing,
}

impl S3Bucket {
    /// A request about the bucket, or about one of its objects.
    fn request<'a>(&'a self, method: &'static str, key: &'a str) -> Request<'a> {
        let mut headers = Vec::new();
        if let Some(owner) = &self.owner {
            headers.push(("x-amz-expected-bucket-owner", owner.as_str().into()));
        }
        let (bucket, closing) = (self.name.as_str(), self.closing.clone());
        Request { method, bucket, key, query: Vec::new(), headers, body: &[], closing }
    }

    /// The headers that select the encryption of a new object.
    fn encrypted<'a>(&'a self, mut request: Request<'a>) -> Request<'a> {
        match &self.encryption {
            None => {}
            Some(Encryption::Aes256) => {
                request.headers.push(("x-amz-server-side-encryption", "AES256".into()));
            }
            Some(Encryption::Kms(key)) => {
                request.headers.push(("x-amz-server-side-encryption", "aws:kms".into()));
                let name = "x-amz-server-side-encryption-aws-kms-key-id";
                request.headers.extend(key.as_ref().map(|key| (name, key.as_str().into())));
            }
        }
        request
    }
}

impl Bucket for S3Bucket {
    fn list(&self, prefix: &str, most: usize) -> Result<Vec<Object>, Failure> {
        let mut found = Vec::new();
        let mut token: Option<String> = None;
        loop {
            let mut request = self.request("GET", "");
            request.query = vec![("encoding-type", "url"), ("list-type", "2"), ("max-keys", PAGE)];
            request.query.push(("prefix", prefix));
            if let Some(token) = &token {
                request.query.push(("continuation-token", token));
            }
            let page = listing::page(&self.client.send(&request)?.text())?;
            found.extend(page.objects);
            token = page.next;
            if token.is_none() || found.len() >= most {
                found.truncate(most);
                return Ok(found);
            }
        }
    }

    fn read(&self, object: &Object) -> Result<Box<dyn Read>, Failure> {
        Ok(Box::new(Ranges::new(self.clone(), object.clone())))
    }

    fn create(&self, key: &str) -> Result<Box<dyn Upload>, Failure> {
        Ok(Box::new(NewObject::new(self.clone(), key)))
    }
}
