//! Tests of the fact check with a table of claims and their verdicts.

use superstep_debate::fact_check::result::Verdict::{self, False, True, Unverifiable};
use superstep_debate::fact_check::{check, claims};
use superstep_debate::prompt::DebateAgent;
use superstep_debate::rule_model::rule_model;

use crate::rule_model_fixtures::{debate, evidence, sample};

/// Claims with the verdict of a careful reader of the sample documents. `Unverifiable` means that the documents do
/// not say.
const TABLE: [(&str, Verdict); 56] = [
    ("The European Union adopted its AI Act in 2024.", True),
    ("In 2024, the European Union adopted its AI Act.", True),
    ("The European Union adopted its AI Act.", True),
    ("The European Union adopted its AI Act in 2021.", False),
    ("The European Union rejected its AI Act in 2024.", Unverifiable),
    ("The European Union did not adopt its AI Act.", Unverifiable),
    ("Fines under the AI Act can reach 7 percent of worldwide annual turnover.", True),
    ("Fines under the AI Act can reach 7% of worldwide annual turnover.", True),
    ("Fines under the AI Act can reach 70 percent of worldwide annual turnover.", False),
    ("Fines under the AI Act can reach 7 percent of profits.", Unverifiable),
    ("Fines under the AI Act can reach 7 million euros.", Unverifiable),
    ("Fines under the AI Act reach 7 percent of worldwide annual turnover.", Unverifiable),
    ("Large language models state things that are not true.", Unverifiable),
    ("Large language models sometimes state things that are not true.", True),
    ("Large language models never state things that are not true.", Unverifiable),
    ("The reactor in Chernobyl exploded in 1986.", True),
    ("The reactor in Chernobyl exploded in 1987.", False),
    ("The reactor in Chernobyl exploded.", True),
    ("The reactor in Chernobyl never exploded.", Unverifiable),
    ("The reactor in Fukushima exploded in 1986.", Unverifiable),
    ("It exploded in 1986.", Unverifiable),
    ("A nuclear reactor emits no carbon dioxide while it runs.", True),
    ("A nuclear reactor emits carbon dioxide while it runs.", False),
    ("A nuclear reactor emits no carbon dioxide.", Unverifiable),
    ("A coal plant emits no carbon dioxide while it runs.", Unverifiable),
    ("France generates about two thirds of its electricity in nuclear power plants.", True),
    ("France generates about one third of its electricity in nuclear power plants.", False),
    ("France generates about two thirds of its electricity in coal power plants.", Unverifiable),
    ("Germany generates about two thirds of its electricity in nuclear power plants.", Unverifiable),
    ("Germany shut down its last nuclear power plants in 2023.", True),
    ("Germany shut down its first nuclear power plants in 2023.", Unverifiable),
    ("Germany shut down its last nuclear power plants in 2011.", False),
    ("Germany opened its last nuclear power plants in 2023.", Unverifiable),
    ("Nuclear energy causes far fewer deaths per unit of electricity than coal.", True),
    ("Coal causes far fewer deaths per unit of electricity than nuclear energy.", Unverifiable),
    ("Nuclear energy causes deaths.", Unverifiable),
    ("Spent nuclear fuel stays dangerous for many thousands of years.", True),
    ("Spent nuclear fuel stays safe for many thousands of years.", False),
    ("Alaska has paid a yearly dividend from its oil fund to its residents since 1982.", True),
    ("Alaska has paid a yearly dividend from its oil fund to its residents since 2001.", False),
    ("Texas has paid a yearly dividend from its oil fund to its residents since 1982.", Unverifiable),
    ("Finland paid 560 euros a month to 2000 unemployed people in 2017 and 2018.", True),
    ("Finland paid 5600 euros a month to 2000 unemployed people in 2017 and 2018.", False),
    ("Finland paid 560 euros a month to more than 1,500 unemployed people in 2017 and 2018.", True),
    ("Finland paid 560 euros a month to 2000 unemployed people in 2007 and 2018.", Unverifiable),
    ("Finland paid 560 euros a month to 9000 students in 2017 and 2018.", Unverifiable),
    ("Studies on school uniforms and grades do not agree with each other.", True),
    ("Studies on school uniforms and grades agree with each other.", False),
    ("Uniforms cause better grades in 9 of 10 schools.", Unverifiable),
    ("Remote work makes it harder for new colleagues to learn by watching others.", True),
    ("Remote work makes it easier for new colleagues to learn by watching others.", False),
    ("Remote work makes it harder for colleagues to learn.", Unverifiable),
    ("Emptier offices lower the income of shops and restaurants around them.", True),
    ("Emptier offices raise the income of shops and restaurants around them.", False),
    ("To say “the reactor in Chernobyl exploded in 1986” leaves out the rest.", Unverifiable),
    ("Did the reactor in Chernobyl explode in 1986?", Unverifiable),
];

/// R-DEB-26: no verdict of true or false is wrong, and most such claims are recognized.
#[test]
fn decided_verdicts_are_correct() {
    let evidence = sample();
    let (mut returned, mut incorrect, mut missed) = (0, Vec::new(), Vec::new());
    for (claim, expected) in TABLE {
        let result = check(claim, Some(&evidence));
        assert_eq!(result.claim, claim);
        assert_eq!(result.sources.is_empty(), result.verdict == Unverifiable, "{claim}");
        returned += usize::from(result.verdict != Unverifiable);
        if result.verdict != expected {
            let list = if result.verdict == Unverifiable { &mut missed } else { &mut incorrect };
            list.push((claim, result));
        }
    }
    assert!(incorrect.is_empty(), "precision {} of {returned}: {incorrect:#?}", returned - incorrect.len());
    let decided = TABLE.iter().filter(|(_, expected)| *expected != Unverifiable).count();
    assert!(missed.is_empty() && returned == decided, "found {returned} of {decided}: {missed:#?}");
}

/// R-DEB-26, R-DEB-17: a verdict names its sources, and contradicting evidence outweighs supporting evidence.
#[test]
fn a_verdict_names_its_sources() {
    let files = [
        ("a.md", "# Height\nThe tower is 300 metres high."),
        ("b.md", "# Height\nThe tower is 450 metres high."),
        ("c.md", "# Other\nThe bridge is 300 metres high."),
    ];
    let evidence = evidence("sources", &files);
    let result = check("The tower is 300 metres high.", Some(&evidence));
    assert_eq!((result.verdict, result.sources), (False, vec!["b.md#height".to_owned()]));
    let result = check("The bridge is 300 metres high.", Some(&evidence));
    assert_eq!((result.verdict, result.sources), (True, vec!["c.md#other".to_owned()]));
}

/// R-DEB-26: a sentence with another time, another place or a weaker word is another statement and decides nothing.
#[test]
fn sentences_about_something_else_decide_nothing() {
    let evidence = evidence(
        "else",
        &[(
            "a.md",
            "# Facts\nIn 2010, the rate was 3 percent in Norway. Small reactors are cheap to build. Some cats like cold water. \
         He moved from Paris to London. Critics say that tall trees grow slowly. It costs 5 euros a day. \
         If prices rise, shops close early.",
        )],
    );
    for claim in [
        "The rate was 5 percent in Norway.",
        "In 2020, the rate was 5 percent in Norway.",
        "The rate is 3 percent in Norway.",
        "Reactors are cheap to build.",
        "Cats like cold water.",
        "He moved from London to Paris.",
        "Tall trees grow slowly.",
        "This costs 9 euros a day.",
        "Shops close early.",
        "Prices rise, shops close early.",
    ] {
        assert_eq!(check(claim, Some(&evidence)).verdict, Unverifiable, "{claim}");
    }
}

/// R-DEB-44: without evidence every verdict is unverifiable and has no source.
#[tokio::test]
async fn without_evidence_nothing_is_decided() {
    for (claim, _) in TABLE {
        let result = check(claim, None);
        assert_eq!((result.verdict, result.sources.len()), (Unverifiable, 0), "{claim}");
    }
}

/// R-DEB-26, R-DEB-44: quotes of the rule model are found in their source; none of its other sentences is called
/// true or false.
#[tokio::test]
async fn quotes_of_the_rule_model_are_true() {
    let evidence = sample();
    let mut confirmed = 0;
    for topic in
        ["Should AI be regulated?", "Remote work", "School uniforms", "Is nuclear energy safe?", "Basic income"]
    {
        for (role, text) in debate(&rule_model(2, Some(evidence.clone())), topic, 4, &[]).await {
            for claim in claims(&text) {
                assert!(text.contains(&claim));
                let result = check(&claim, Some(&evidence));
                let is_quote = role != DebateAgent::Moderator && claim.contains("” (");
                assert!(result.verdict == Unverifiable || is_quote && result.verdict == True, "{result:?}");
                assert!(result.verdict != True || claim.contains(&result.sources[0]), "{result:?}");
                confirmed += usize::from(result.verdict == True);
            }
        }
    }
    assert!(confirmed >= 8, "{confirmed}");
}
