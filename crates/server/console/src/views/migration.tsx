export function MigrationView() { return <p>MigrationView</p>; }
