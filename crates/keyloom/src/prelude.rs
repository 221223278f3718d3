//! The imports that most programs need: `use keyloom::prelude::*;`

pub use serde::{Deserialize, Serialize};

#[cfg(feature = "remote")]
pub use crate::remote::{Endpoint, Remote};
pub use crate::{
    Access, Design as _, Entity, EntityKey as _, Result, Table, Timestamp, Ulid, Uuid,
};

#[cfg(feature = "embedded")]
pub use crate::Database;
