//! Members, resources and constraints over HTTP.

use serde_json::{Value, json};

use crate::test_server::{pointers, start_server};

/// R-FAM-111, R-FAM-95, R-FAM-100: parents list, create, change and delete the objects of the family.
#[tokio::test]
async fn parents_manage_family_objects() {
    let family = start_server().await;
    let rows = [
        ("members", json!({ "name": "Grandma", "role": "other" }), "grandma", json!({ "aliases": ["Nana"] })),
        ("resources", json!({ "name": "Bike", "type": "vehicle", "capacity": 1 }), "bike", json!({ "capacity": 2 })),
        (
            "rules",
            json!({ "name": "Early nights", "kind": { "kind": "no_events_after", "time": "21:00:00" }, "strength": "hard" }),
            "early-nights",
            json!({ "strength": { "soft": 5 } }),
        ),
    ];
    for (kind, object, id, change) in rows {
        let by = |user: &str, object: &Value| {
            let mut body = object.clone();
            body["user_id"] = json!(user);
            body
        };
        assert_eq!(family.post(&format!("/{kind}"), by("emma", &object)).await.0, 403, "{kind}");
        let (status, created) = family.post(&format!("/{kind}"), by("mom", &object)).await;
        assert_eq!((status, &created["id"], &created["name"]), (201, &json!(id), &object["name"]), "{kind}: {created}");
        let mut same = object.clone();
        same["id"] = json!(id);
        assert_eq!(family.post(&format!("/{kind}"), by("mom", &same)).await.0, 409, "{kind}");
        let path = format!("/{kind}/{id}");
        let (status, changed) = family.patch(&path, by("dad", &change)).await;
        let field = change.as_object().unwrap().keys().next().unwrap();
        assert_eq!((status, &changed[field], &changed["name"]), (200, &change[field], &object["name"]), "{changed}");
        let (_, listed) = family.get(&format!("/{kind}?user_id=emma")).await;
        assert!(listed[kind].as_array().unwrap().contains(&changed), "{listed}");
        assert_eq!(family.delete(&format!("{path}?user_id=emma")).await.0, 403, "{kind}");
        assert_eq!(family.delete(&format!("{path}?user_id=mom")).await.0, 204, "{kind}");
        assert_eq!(family.delete(&format!("{path}?user_id=mom")).await.0, 404, "{kind}");
        assert_eq!(family.patch(&path, by("mom", &change)).await.0, 404, "{kind}");
    }
}

/// R-FAM-68, R-FAM-95: an invalid object is rejected with the location of the error and the allowed values.
#[tokio::test]
async fn invalid_family_objects_are_rejected() {
    let family = start_server().await;
    let zero_duration =
        |minutes: u32| json!({ "name": "Rex", "role": "other", "preferences": { "default_minutes": minutes } });
    let rows = [
        ("members", json!({ "name": "Rex", "role": "dog" }), 422, "/role"),
        ("members", json!({ "name": " ", "role": "other" }), 422, "/name"),
        ("members", json!({ "name": "Rex", "role": "other", "legs": 4 }), 422, "/legs"),
        ("members", json!({ "id": "no id", "name": "Rex", "role": "other" }), 422, "/id"),
        ("members", json!({ "name": "Rex", "role": "other", "zone": "Mars/Base" }), 422, ""),
        ("members", zero_duration(0), 422, "/preferences/default_minutes"),
        ("members", zero_duration(528_481), 422, "/preferences/default_minutes"),
        ("resources", json!({ "name": "Bike", "type": "vehicle", "capacity": -1 }), 422, "/capacity"),
        ("rules", json!({ "name": "R", "kind": { "kind": "no_fun" }, "strength": "hard" }), 422, "/kind"),
        (
            "rules",
            json!({ "name": "R", "kind": { "kind": "max_events_per_day", "count": 2 }, "strength": { "soft": 11 } }),
            422,
            "/strength/soft",
        ),
        (
            "rules",
            json!({ "name": "R", "member": "rex", "kind": { "kind": "max_events_per_day", "count": 2 }, "strength": "hard" }),
            422,
            "",
        ),
        (
            "rules",
            json!({ "name": "R", "kind": { "kind": "min_gap_minutes", "minutes": 10_081 }, "strength": "hard" }),
            422,
            "/kind/minutes",
        ),
        ("pets", json!({ "name": "Rex" }), 404, ""),
    ];
    for (kind, mut body, status, pointer) in rows {
        body["user_id"] = json!("mom");
        let (got, problem) = family.post(&format!("/{kind}"), body.clone()).await;
        assert_eq!(got, status, "{body}: {problem}");
        assert!(
            pointer.is_empty() || pointers(&problem).iter().any(|found| found.starts_with(pointer)),
            "{body}: {problem}"
        );
    }
    let (status, problem) = family.post("/members", json!({ "name": "Rex", "role": "other" })).await;
    assert_eq!((status, pointers(&problem)), (422, vec!["/user_id"]));
    let renamed = family.patch("/members/emma", json!({ "user_id": "mom", "id": "em" })).await;
    assert_eq!((renamed.0, pointers(&renamed.1)), (422, vec!["/id"]));
}

/// R-FAM-95: an object that is referenced cannot be deleted, nor can the last parent.
#[tokio::test]
async fn referenced_objects_cannot_be_deleted() {
    let family = crate::test_server::start_with_family(superstep_scheduler::sample::family()).await;
    for path in ["/members/emma", "/resources/car"] {
        let (status, problem) = family.delete(&format!("{path}?user_id=mom")).await;
        assert!(status == 409 && problem["detail"].as_str().unwrap().contains("still refers to it"), "{problem}");
    }
    let child = json!({ "user_id": "mom", "role": "child" });
    assert_eq!(family.patch("/members/dad", child.clone()).await.0, 200);
    let (status, problem) = family.patch("/members/mom", child).await;
    assert!(status == 422 && problem["detail"].as_str().unwrap().contains("at least one parent"), "{problem}");
}

/// R-FAM-95, R-FAM-111: two concurrent changes of one object are both kept, and two concurrent creations create two
/// objects.
#[tokio::test]
async fn two_parents_change_the_family_at_once() {
    let family = start_server().await;
    for round in 0..20 {
        let alias = json!({ "user_id": "mom", "aliases": [format!("Em {round}")] });
        let name = json!({ "user_id": "dad", "name": format!("Emma {round}") });
        let (one, other) = tokio::join!(family.patch("/members/emma", alias), family.patch("/members/emma", name));
        assert_eq!((one.0, other.0), (200, 200), "{} {}", one.1, other.1);
        let listed = family.get("/members?user_id=mom").await.1;
        let emma = listed["members"].as_array().unwrap().iter().find(|one| one["id"] == "emma").unwrap().clone();
        assert_eq!(emma["name"], format!("Emma {round}"), "{emma}");
        assert_eq!(emma["aliases"], json!([format!("Em {round}")]), "{emma}");

        let bike =
            |user: &str| json!({ "user_id": user, "name": format!("Bike {round}"), "type": "bike", "capacity": 1 });
        let (one, other) = tokio::join!(family.post("/resources", bike("mom")), family.post("/resources", bike("dad")));
        assert_eq!((one.0, other.0), (201, 201), "{} {}", one.1, other.1);
        assert_ne!(one.1["id"], other.1["id"]);
    }
}
