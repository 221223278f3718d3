//! Every promised compile error, with its message.

#[test]
fn mistakes_in_designs_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
