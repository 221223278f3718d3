use keyloom::prelude::*;

#[keyloom::design(
    table(documents, PK, SK, index(GSI1, GSI1PK, GSI1SK)),
    title = "Multi-tenant access control",
    description = "Documents of tenants, and who may do what with them",
    write("create a document", entity(Document, Grant), kind = "transact", rate = "5/s", description = "The document and its owner's grant appear together or not at all"),
    write("change a role", entity(Grant), kind = "update", sets(role), rate = "1/s"),
)]
pub mod access_control {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(PK = "TENANT#{tenant_id}", SK = "DOC#{doc_id}", count = 2000000, size = 4096)]
    pub struct Document {
        #[field(type = "token", distinct = 5000, max = 40)]
        pub tenant_id: String,
        pub doc_id: Ulid,
        #[field(max = 200)]
        pub title: String,
        #[field(max = 90000)]
        pub content: String,
    }

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(PK = "TENANT#{tenant_id}#DOC#{doc_id}", SK = "USER#{user_id}", GSI1PK = "USER#{user_id}", GSI1SK = "TENANT#{tenant_id}#ROLE#{role}#DOC#{doc_id}", count = 10000000, size = 200)]
    pub struct Grant {
        #[field(type = "token", distinct = 5000, max = 40)]
        pub tenant_id: String,
        #[field(distinct = 2000000)]
        pub doc_id: Ulid,
        #[field(distinct = 400000)]
        pub user_id: Ulid,
        #[field(values("Admin", "Editor", "Viewer"))]
        pub role: String,
    }

    #[derive(Access)]
    #[access(find = Document, name = "documents of a tenant", where = "tenant_id = :tenant_id", order = "doc_id", limit = 50, rate = "50/s")]
    pub struct DocumentsOfATenant {
        pub tenant_id: String,
    }

    #[derive(Access)]
    #[access(find = Document, name = "document", where = "tenant_id = :tenant_id and doc_id = :doc_id", rate = "300/s")]
    pub struct DocumentPattern {
        pub tenant_id: String,
        pub doc_id: Ulid,
    }

    #[derive(Access)]
    #[access(find = Document, name = "documents of a user by role", via = Grant, where = "user_id = :user_id and tenant_id = :tenant_id and role = :role", limit = 50, rate = "40/s")]
    pub struct DocumentsOfAUserByRole {
        pub user_id: Ulid,
        pub tenant_id: String,
        pub role: String,
    }

    #[derive(Access)]
    #[access(find = Grant, name = "grants of a user in a tenant", where = "user_id = :user_id and tenant_id = :tenant_id", limit = 100)]
    pub struct GrantsOfAUserInATenant {
        pub user_id: Ulid,
        pub tenant_id: String,
    }

    #[derive(Access)]
    #[access(find = Grant, name = "users of a document", where = "tenant_id = :tenant_id and doc_id = :doc_id", limit = 100)]
    pub struct UsersOfADocument {
        pub tenant_id: String,
        pub doc_id: Ulid,
    }

    #[derive(Access)]
    #[access(find = Grant, name = "may this user read this document?", where = "tenant_id = :tenant_id and doc_id = :doc_id and user_id = :user_id", consistent, rate = "900/s")]
    pub struct MayThisUserReadThisDocument {
        pub tenant_id: String,
        pub doc_id: Ulid,
        pub user_id: Ulid,
    }
}
