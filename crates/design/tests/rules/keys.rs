//! K: key templates.

use crate::Case;

pub(crate) const CASES: &[Case] = &[
    Case {
        rule: "K01",
        fires: r#"
[entity.Version]
PK = "DOC#{doc_id:ulid}"
SK = "V#{version}"
[entity.Version.fields]
version = { type = "u32", plain = true }"#,
        silent: r#"
[entity.Version]
PK = "DOC#{doc_id:ulid}"
SK = "V#{version}"
[entity.Version.fields]
version = { type = "u32", width = 4 }"#,
    },
    Case {
        rule: "K02",
        fires: r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
escape = "none"
[entity.Order]
PK = "USER#{user_id}"
SK = "ORDER#{order_id}"
[entity.Order.fields]
user_id = "string"
order_id = "string""#,
        silent: r#"
[entity.Order]
PK = "USER#{user_id}"
SK = "ORDER#{order_id}"
[entity.Order.fields]
user_id = "string"
order_id = "string""#,
    },
    Case {
        rule: "K03",
        fires: r#"
[entity.Order]
PK = "{user_id}{order_id}"
SK = "ORDER"
[entity.Order.fields]
user_id = "string"
order_id = "string""#,
        silent: r#"
[entity.Order]
PK = "{user_id}#{order_id}"
SK = "ORDER"
[entity.Order.fields]
user_id = "string"
order_id = "string""#,
    },
    Case {
        rule: "K04",
        fires: r#"
[entity.Page]
PK = "SITE#{site:ulid}"
SK = "URL#{url}"
[entity.Page.fields]
url = { type = "string", max = 2000 }"#,
        silent: r#"
[entity.Page]
PK = "SITE#{site:ulid}"
SK = "URL#{url}"
[entity.Page.fields]
url = { type = "string", max = 1000 }"#,
    },
    Case {
        rule: "K05",
        fires: r#"
[entity.Doc]
PK = "TENANT#{tenant}#DOC#{doc}"
SK = "METADATA"
[entity.Doc.fields]
tenant = "string"
doc = "string"
[access."documents of a tenant"]
find = "Doc"
key = 'PK begins_with "TENANT#T1#DOC#"'"#,
        silent: r#"
[entity.Doc]
PK = "TENANT#{tenant}"
SK = "DOC#{doc}"
[entity.Doc.fields]
tenant = "string"
doc = "string"
[access."documents of a tenant"]
find = "Doc"
key = 'PK = "TENANT#T1" and begins_with(SK, "DOC#")'"#,
    },
    Case {
        rule: "K06",
        fires: r#"
[entity.Metric]
PK = "SENSOR#{sensor}"
SK = "METRIC#{at:epoch_ms}#{id:ulid}"
[entity.Metric.fields]
sensor = "string"
[access."last hour"]
find = "Metric"
key = 'PK = "SENSOR#123" and SK begins_with "METRIC#" and SK > "METRIC#001700000000000"'"#,
        silent: r#"
[entity.Metric]
PK = "SENSOR#{sensor}"
SK = "METRIC#{at:epoch_ms}#{id:ulid}"
[entity.Metric.fields]
sensor = "string"
[access."last hour"]
find = "Metric"
where = "sensor = ? and at > ?""#,
    },
    Case {
        rule: "K07",
        fires: r#"
[entity.Order]
PK = "USER#{user}"
SK = "ORDER#{day:date}#{id}"
[entity.Order.fields]
user = "string"
id = "string"
[access."orders of a month"]
find = "Order"
key = 'PK = "USER#123" and begins_with(SK, "ORDER#2024-12#")'"#,
        silent: r#"
[entity.Order]
PK = "USER#{user}"
SK = "ORDER#{day:date}#{id}"
[entity.Order.fields]
user = "string"
id = "string"
[access."orders of a month"]
find = "Order"
key = 'PK = "USER#123" and begins_with(SK, "ORDER#2024-12")'"#,
    },
    Case {
        rule: "K07",
        fires: r#"
[entity.Product]
PK = "CATEGORY#{category}"
SK = "PRODUCT#{product}"
[entity.Product.fields]
category = "string"
product = "string"
[access."a product and its variants"]
find = "Product"
key = 'PK = "CATEGORY#Electronics" and begins_with(SK, "PRODUCT#TV-LG-55")'"#,
        silent: r#"
[entity.Product]
PK = "CATEGORY#{category}"
SK = "PRODUCT#{product}#"
[entity.Product.fields]
category = "string"
product = "string"
[access."a product and its variants"]
find = "Product"
key = 'PK = "CATEGORY#Electronics" and begins_with(SK, "PRODUCT#TV-LG-55#")'"#,
    },
    Case {
        rule: "K08",
        fires: r#"
[entity.Order]
PK = "USER#{user}"
SK = "ORDER#{at:datetime}#{id}"
[entity.Order.fields]
user = "string"
id = "string"
[access."orders of January"]
find = "Order"
key = 'PK = "USER#123" and SK between "ORDER#2024-01-01" and "ORDER#2024-01-31"'"#,
        silent: r#"
[entity.Order]
PK = "USER#{user}"
SK = "ORDER#{at:datetime}#{id}"
[entity.Order.fields]
user = "string"
id = "string"
[access."orders of January"]
find = "Order"
where = "user = ? and at between '2024-01-01' and '2024-01-31'""#,
    },
    Case {
        rule: "K09",
        fires: r#"
[entity.Event]
PK = "USER#{user:ulid}"
SK = "EVENT#{at}#{id:ulid}"
[entity.Event.fields]
at = "datetime:loose""#,
        silent: r#"
[entity.Event]
PK = "USER#{user:ulid}"
SK = "EVENT#{at}#{id:ulid}"
[entity.Event.fields]
at = "datetime""#,
    },
    Case {
        rule: "K10",
        fires: r#"
[entity.File]
PK = "DISK#{disk:ulid}"
SK = "NAME#{name}#{id:ulid}"
[entity.File.fields]
name = "string"
[access."files by name"]
find = "File"
where = "disk = ?"
order = "name""#,
        silent: r#"
[entity.File]
PK = "DISK#{disk:ulid}"
SK = "NAME#{name}#{id:ulid}"
[entity.File.fields]
name = "token"
[access."files by name"]
find = "File"
where = "disk = ?"
order = "name""#,
    },
    Case {
        rule: "K11",
        fires: r#"
[entity.User]
PK = "USER#{user:ulid}"
SK = "profile|{kind:token}""#,
        silent: r#"
[entity.User]
PK = "USER#{user:ulid}"
SK = "PROFILE#{kind:token}""#,
    },
    Case {
        rule: "K12",
        fires: r#"
[entity.Thing]
PK = "OWNER#{owner:ulid}"
SK = "{type:token}#{subtype:token}#{category:token}#{subcategory:token}#{at:datetime}#{id:ulid}#{version:u32}"
[access."things"]
find = "Thing"
where = "owner = ? and type = ?""#,
        silent: r#"
[entity.Thing]
PK = "OWNER#{owner:ulid}"
SK = "{type:token}#{at:datetime}#{id:ulid}"
[access."things"]
find = "Thing"
where = "owner = ? and type = ?"
order = "at""#,
    },
    Case {
        rule: "K13",
        fires: r#"
[entity.Order]
PK = "{user}"
SK = "{order}"
[entity.Order.fields]
user = "string"
order = "string""#,
        silent: r#"
[entity.Order]
PK = "USER#{user}"
SK = "ORDER#{order}"
[entity.Order.fields]
user = "string"
order = "string""#,
    },
    Case {
        rule: "K14",
        fires: r#"
[entity.Order]
PK = "USER#{user}"
SK = "ORDER#{order:ulid}"
[entity.Order.fields]
user = { type = "string", optional = true }"#,
        silent: r#"
[entity.Order]
PK = "USER#{user}"
SK = "ORDER#{order:ulid}"
[entity.Order.fields]
user = "string""#,
    },
];
