//! Building drafts by code: the same model that files have, for derives and tests.

use super::{
    AccessDraft, Billing, Draft, EntityDraft, FieldDraft, IndexDraft, KeyDraft, ProjectionDraft,
    Spanned, TableClass, TableDraft, WriteDraft,
};

impl Draft {
    /// Adds a table.
    #[must_use]
    pub fn table(mut self, table: TableDraft) -> Self {
        self.tables.push(table);
        self
    }

    /// Adds an entity.
    #[must_use]
    pub fn entity(mut self, entity: EntityDraft) -> Self {
        self.entities.push(entity);
        self
    }

    /// Adds an access pattern.
    #[must_use]
    pub fn access(mut self, access: AccessDraft) -> Self {
        self.accesses.push(access);
        self
    }

    /// Adds a write.
    #[must_use]
    pub fn write(mut self, write: WriteDraft) -> Self {
        self.writes.push(write);
        self
    }
}

impl TableDraft {
    /// A table without keys yet.
    pub fn new(name: &str) -> Self {
        Self::at(Spanned::free(name))
    }

    pub(crate) fn at(name: Spanned<String>) -> Self {
        Self {
            name,
            partition_key: Vec::new(),
            sort_key: Vec::new(),
            indexes: Vec::new(),
            ttl: None,
            billing: Billing::OnDemand,
            stream: None,
            class: TableClass::Standard,
            type_attribute: None,
            tenant: None,
            separator: None,
            escape: None,
        }
    }

    /// The partition and the sort key attribute.
    #[must_use]
    pub fn keys(mut self, partition: &str, sort: &str) -> Self {
        self.partition_key = vec![Spanned::free(partition)];
        self.sort_key = vec![Spanned::free(sort)];
        self
    }

    /// The partition key attribute of a table without sort key.
    #[must_use]
    pub fn partition_key(mut self, partition: &str) -> Self {
        self.partition_key = vec![Spanned::free(partition)];
        self
    }

    /// Adds an index.
    #[must_use]
    pub fn index(mut self, index: IndexDraft) -> Self {
        self.indexes.push(index);
        self
    }
}

impl IndexDraft {
    /// A global index over these attributes; several make a native multi-attribute key.
    pub fn global(name: &str, partition: &[&str], sort: &[&str]) -> Self {
        let free = |names: &[&str]| names.iter().map(|&name| Spanned::free(name)).collect();
        Self {
            name: Spanned::free(name),
            partition_key: free(partition),
            sort_key: free(sort),
            projection: ProjectionDraft::All,
            local: false,
        }
    }

    /// What is copied into the index.
    #[must_use]
    pub fn projecting(mut self, projection: ProjectionDraft) -> Self {
        self.projection = projection;
        self
    }
}

impl EntityDraft {
    /// An entity in a table.
    pub fn new(name: &str, table: &str) -> Self {
        let mut entity = Self::at(Spanned::free(name));
        entity.table = Some(Spanned::free(table));
        entity
    }

    pub(crate) fn at(name: Spanned<String>) -> Self {
        Self {
            name,
            table: None,
            fields: Vec::new(),
            keys: Vec::new(),
            description: None,
            count: None,
            size: None,
            max_size: None,
            growth: None,
            size_growth: None,
            lives: None,
            identity: Vec::new(),
            was: Vec::new(),
        }
    }

    /// Adds a field.
    #[must_use]
    pub fn field(mut self, field: FieldDraft) -> Self {
        self.fields.push(field);
        self
    }

    /// Sets the template of a key attribute.
    #[must_use]
    pub fn key(mut self, attribute: &str, template: &str) -> Self {
        self.keys.push(KeyDraft {
            attribute: Spanned::free(attribute),
            template: Spanned::free(template),
            when: None,
        });
        self
    }

    /// How many items there are, and how large they are on average.
    #[must_use]
    pub fn volume(mut self, count: f64, size_bytes: f64) -> Self {
        self.count = Some(count);
        self.size = Some(size_bytes);
        self
    }
}

impl FieldDraft {
    /// A field of a type such as `ulid`, `datetime:ms` or `u32`.
    pub fn new(name: &str, kind: &str) -> Self {
        Self::at(Spanned::free(name), Spanned::free(kind))
    }

    pub(crate) fn at(name: Spanned<String>, kind: Spanned<String>) -> Self {
        Self {
            name,
            kind,
            was: None,
            values: Vec::new(),
            max: None,
            width: None,
            scale: None,
            plain: false,
            desc: false,
            optional: false,
            key_only: false,
            immutable: false,
            sequential: false,
            distinct: None,
            top_share: None,
            present: None,
            shards: None,
            shard_by: Vec::new(),
            size: None,
            since: None,
            until: None,
            max_items: None,
            item_size: None,
        }
    }

    /// The only values it may have.
    #[must_use]
    pub fn values(mut self, values: &[&str]) -> Self {
        self.values = values.iter().map(|&value| Spanned::free(value)).collect();
        self
    }

    /// The greatest length of a text in bytes.
    #[must_use]
    pub fn max(mut self, bytes: u64) -> Self {
        self.max = Some(bytes);
        self
    }

    /// May be absent.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }
}

impl AccessDraft {
    /// A pattern that returns an entity.
    pub fn new(name: &str, find: &str) -> Self {
        let mut access = Self::at(Spanned::free(name));
        access.find = vec![Spanned::free(find)];
        access
    }

    pub(crate) fn at(name: Spanned<String>) -> Self {
        Self {
            name,
            find: Vec::new(),
            via: None,
            condition: None,
            key: None,
            filter: None,
            order: None,
            limit: None,
            index: None,
            returns: Vec::new(),
            consistent: false,
            rate: None,
            items: None,
            all_pages: false,
            keeps: None,
            max_requests: None,
            description: None,
        }
    }

    /// The condition on fields, as in `where`.
    #[must_use]
    pub fn filtered_by(mut self, condition: &str) -> Self {
        self.condition = Some(Spanned::free(condition));
        self
    }

    /// The order asked for, such as `created_at desc`.
    #[must_use]
    pub fn ordered_by(mut self, order: &str) -> Self {
        self.order = Some(Spanned::free(order));
        self
    }

    /// The number of items wanted.
    #[must_use]
    pub fn limit(mut self, limit: u64) -> Self {
        self.limit = Some(limit);
        self
    }
}

impl WriteDraft {
    /// A write of one entity: `put`, `create`, `update`, `delete`.
    pub fn new(name: &str, entity: &str, kind: &str) -> Self {
        let mut write = Self::at(Spanned::free(name));
        write.entities = vec![Spanned::free(entity)];
        write.kind = Spanned::free(kind);
        write
    }

    pub(crate) fn at(name: Spanned<String>) -> Self {
        let kind = Spanned::new("put".to_owned(), name.span);
        Self {
            name,
            entities: Vec::new(),
            kind,
            sets: Vec::new(),
            given: Vec::new(),
            appends: Vec::new(),
            items: None,
            kinds: Vec::new(),
            rate: None,
            reads_first: false,
            expression: None,
            names: Vec::new(),
            description: None,
        }
    }
}
