// Synthesises emitted CDK constructs and compares the tables with those of the create-table output:
// node synth.cjs DIRECTORY, which holds NAME.ts and NAME.json for every design. Prints what differs.
const fs = require('node:fs');
const path = require('node:path');
const assert = require('node:assert');
const ts = require('typescript');
const { App, Stack } = require('aws-cdk-lib');
const { Template } = require('aws-cdk-lib/assertions');

const directory = path.resolve(process.argv[2]);
const names = fs.readdirSync(directory).filter((file) => file.endsWith('.ts')).map((file) => file.slice(0, -3));
const wrong = [];

/** The construct that a file exports. */
function construct(name) {
  const source = fs.readFileSync(path.join(directory, `${name}.ts`), 'utf8');
  const compilerOptions = { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 };
  const made = ts.transpileModule(source, { compilerOptions, reportDiagnostics: true });
  assert.deepStrictEqual(made.diagnostics.map((found) => found.messageText), []);
  const module = { exports: {} };
  new Function('require', 'module', 'exports', made.outputText)(require, module, module.exports);
  return Object.values(module.exports)[0];
}

/** What a table is, whichever way it was written. */
function shape(table) {
  const projection = (given) => ({
    type: given.ProjectionType,
    names: [...(given.NonKeyAttributes ?? [])].sort(),
  });
  const indexes = (list) =>
    Object.fromEntries((list ?? []).map((index) => [index.IndexName, [index.KeySchema, projection(index.Projection)]]));
  const attributes = (table.AttributeDefinitions ?? []).map((a) => `${a.AttributeName}:${a.AttributeType}`);
  return {
    name: table.TableName,
    keys: table.KeySchema,
    attributes: attributes.sort(),
    billing: table.BillingMode ?? 'PROVISIONED',
    global: indexes(table.GlobalSecondaryIndexes),
    local: indexes(table.LocalSecondaryIndexes),
    stream: table.StreamSpecification?.StreamViewType ?? null,
  };
}

function compare(name) {
  const Design = construct(name);
  const stack = new Stack(new App(), 'Test', { env: { region: 'us-east-1', account: '123456789012' } });
  new Design(stack, 'Design');
  const resources = Template.fromStack(stack).findResources('AWS::DynamoDB::GlobalTable');
  const made = Object.values(resources).map((resource) => shape(resource.Properties));
  const wanted = JSON.parse(fs.readFileSync(path.join(directory, `${name}.json`), 'utf8')).map(shape);
  const order = (a, b) => (a.name < b.name ? -1 : 1);
  assert.deepStrictEqual(made.sort(order), wanted.sort(order));
}

for (const name of names) {
  try {
    compare(name);
  } catch (error) {
    wrong.push(`${name}: ${error.message}`);
  }
}
console.log(wrong.length === 0 ? `${names.length} constructs are right` : wrong.join('\n'));
process.exitCode = wrong.length === 0 ? 0 : 1;
