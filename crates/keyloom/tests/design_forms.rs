//! Parts of designs that are written seldom, at run time.
#![expect(unreachable_pub, reason = "tests")]

use keyloom::prelude::*;
use keyloom::{Set, TableClient};

#[keyloom::design(
    table(forms, PK, SK, index(GSI1, GSI1PK, GSI1SK)),
    write("tag an article", entity = Article, kind = "update", sets(tags)),
    relationship("authorship", from = Author, to = Article, kind = "one-to-many", direction = "forward"),
    allow(W01, reason = "articles have few tags"),
)]
mod forms {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(PK = "AUTHOR#{author}", SK = "PROFILE")]
    pub struct Author {
        pub author: String,
    }

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(
        PK = "AUTHOR#{author}",
        SK = "ARTICLE#{number}",
        GSI1PK = "KIND#{kind-of-text}",
        GSI1SK = "PLACE#{place}#{number}"
    )]
    pub struct Article {
        pub author: String,
        #[field(key_only)]
        pub number: u32,
        #[serde(rename = "kind-of-text")]
        #[field(type = "token:20")]
        pub kind: String,
        #[field(key_only)]
        pub place: Option<u16>,
        pub tags: Set<String>,
        pub r#type: Option<String>,
    }

    #[derive(Access)]
    #[access(find = Article, name = "authorship: Author to Article", implied)]
    pub struct ArticlesOf {
        pub author: String,
    }

    #[derive(Access)]
    #[access(
        find = Article,
        where = "author = ?",
        key = "PK = \"AUTHOR#{author}\" and begins_with(SK, \"ARTICLE#\")"
    )]
    pub struct ByHand {
        pub author: String,
    }
}
use forms::*;

fn article(number: u32) -> Article {
    Article {
        author: "ann".into(),
        number,
        kind: "essay".into(),
        place: (number > 1).then_some(7),
        tags: if number > 1 { Set::from(["a".to_owned(), "b".to_owned()]) } else { Set::default() },
        r#type: None,
    }
}

#[test]
fn seldom_forms_are_stored_and_read() {
    let table = Forms::open(Database::memory()).unwrap();
    let articles = [article(1), article(2)];
    table.put(&Author { author: "ann".into() }).unwrap();
    for article in &articles {
        table.put(article).unwrap();
    }
    assert_eq!(table.get(articles[1].key()).unwrap().as_ref(), articles.last());
    for found in [
        table.query(ArticlesOf { author: "ann".into() }).collect().unwrap(),
        table.query(ByHand { author: "ann".into() }).collect().unwrap(),
    ] {
        assert_eq!(found, articles);
    }
    let stored = TableClient::new(table.backend().clone(), "forms").with_keys("PK", "SK");
    let stored = stored.get(("AUTHOR#ann", "ARTICLE#0000000002")).unwrap().unwrap();
    let names: Vec<&str> = stored.keys().map(AsRef::as_ref).collect();
    assert_eq!(names, ["GSI1PK", "GSI1SK", "PK", "SK", "author", "kind-of-text", "tags"]);
    assert_eq!(stored.get("GSI1SK"), Some(&"PLACE#00007#0000000002".into()));
    let patched =
        table.apply(Article::patch("ann", 2u32).place(9u16).r#type("x".to_owned())).unwrap();
    assert_eq!((patched.place, patched.r#type.as_deref()), (Some(9), Some("x")));
    let changed = table.update(articles[1].key(), |article| article.number = 3).unwrap();
    assert_eq!(table.get(Article::at("ann", 3u32)).unwrap(), Some(changed));
}
