// ---------------------------------------------------------------------------
// Writes: items with the keys and the guards that belong to them.
// ---------------------------------------------------------------------------

/** An item with this key exists already. */
export class AlreadyExists extends Error {
  override name = "AlreadyExists";
}

/** There is no item with this key. */
export class NotFound extends Error {
  override name = "NotFound";
}

/** Another item has the same values in unique fields. */
export class NotUnique extends Error {
  override name = "NotUnique";
}

/** Others changed the item again and again, or a condition of a transaction failed. */
export class Conflict extends Error {
  override name = "Conflict";
}

/** Fields that no two items share, and the entity whose items guard that. */
interface Guard {
  readonly fields: readonly string[];
  readonly by: AnyEntity;
}

/** One write of a unit that is done as a whole. */
interface Step {
  readonly kind: "Put" | "Update" | "Delete" | "ConditionCheck";
  readonly entity: AnyEntity;
  readonly item: Item;
  readonly update?: string;
  readonly condition?: string;
  readonly expression: Expression;
  readonly refused: Error;
}

/** What a write does with one entity. */
interface WriteSpec {
  readonly entity: AnyEntity;
  readonly action: string;
  readonly values: readonly Item[];
  readonly guards?: readonly Guard[];
  readonly sets?: readonly string[];
  readonly appends?: readonly string[];
  readonly update?: string;
  readonly names?: Record<string, string>;
  readonly arguments?: Item;
}

/** Fields that may be changed: all but those of the key. Undefined removes one that is optional. */
export type Changes<T, K> = {
  [P in Exclude<keyof T, keyof K>]?: T[P] | undefined;
};

const MAX_CONFLICTS = 12;
const OWNER = "owner";

function hashAttribute(entity: AnyEntity): string {
  return entity.table.primary.hash[0] ?? "";
}

function primaryKey(entity: AnyEntity, fields: Item): Item {
  const { hash, range } = entity.table.primary;
  return entity.keyOf([...hash, ...range], fields);
}

/** A primary key for people: `PROJECT#p1 / TASK#t1`. */
function keyLabel(key: Item): string {
  const parts = Object.entries(key).sort(([a], [b]) => (a < b ? -1 : 1));
  const text = (value: unknown) =>
    isNumber(value) ? numberText(value) : String(value);
  return parts.map(([, value]) => text(value)).join(" / ");
}

function putStep(
  entity: AnyEntity,
  value: Item,
  condition?: "create" | { readonly unchanged: readonly Test[] },
): Step {
  const expression = new Expression();
  const item = (entity as EntityType<Item>).item(value);
  const key = keyLabel(primaryKey(entity, value));
  const { name } = entity.spec;
  if (condition === undefined) {
    const refused = new Conflict(`${name} ${key}`);
    return { kind: "Put", entity, item, expression, refused };
  }
  const create = condition === "create";
  const tests: readonly Test[] = create
    ? [[hashAttribute(entity), "missing"]]
    : condition.unchanged;
  return {
    kind: "Put",
    entity,
    item,
    condition: expression.all(tests),
    expression,
    refused: create
      ? new AlreadyExists(`${name} ${key} exists already`)
      : new Conflict(`${name} ${key} was changed by others`),
  };
}

function keyStep(
  kind: "Delete" | "ConditionCheck",
  entity: AnyEntity,
  fields: Item,
  tests?: readonly Test[],
): Step {
  const expression = new Expression();
  const key = primaryKey(entity, fields);
  const wanted: readonly Test[] =
    tests ?? (kind === "Delete" ? [] : [[hashAttribute(entity), "exists"]]);
  const condition = expression.all(wanted);
  return {
    kind,
    entity,
    item: key,
    expression,
    ...(condition === "" ? {} : { condition }),
    refused: new NotFound(`there is no ${entity.spec.name} ${keyLabel(key)}`),
  };
}

/** An update of fields, and of the key attributes that follow from them. */
function updateStep(
  entity: AnyEntity,
  known: Item,
  changed: readonly string[],
  unchanged: readonly Test[] = [],
  appends: readonly string[] = [],
): Step {
  const expression = new Expression();
  const values = entity.completed(known);
  const [sets, removes]: [string[], string[]] = [[], []];
  const put = (name: string, value: unknown) => {
    if (value === undefined) removes.push(expression.name(name));
    else sets.push(`${expression.name(name)} = ${expression.value(value)}`);
  };
  for (const name of changed) {
    const field = entity.field(name);
    if (field.key_only || entity.spec.keys[name]?.native) continue;
    const value = values[name];
    put(name, value === undefined ? value : attributeOf(field, value));
  }
  const adds: string[] = [];
  for (const name of appends) {
    const [short, value] = [
      expression.name(name),
      expression.value(values[name]),
    ];
    if (entity.field(name).kind === "list") {
      const start = `if_not_exists(${short}, ${expression.value([])})`;
      sets.push(`${short} = list_append(${start}, ${value})`);
    } else {
      adds.push(`${short} ${value}`);
    }
  }
  const key = primaryKey(entity, known);
  for (const attribute of Object.keys(entity.spec.keys)) {
    const depends = entity.dependencies(attribute);
    if (!depends.some((name) => changed.includes(name))) continue;
    if (attribute in key) {
      throw new InvalidValue(
        `\`${attribute}\` is the primary key: it never changes`,
      );
    }
    put(attribute, entity.attribute(attribute, values));
  }
  const set = sets.length === 0 ? "" : `SET ${sets.join(", ")}`;
  const remove = removes.length === 0 ? "" : `REMOVE ${removes.join(", ")}`;
  const add = adds.length === 0 ? "" : `ADD ${adds.join(", ")}`;
  const tests: Test[] = [[hashAttribute(entity), "exists"], ...unchanged];
  const label = `${entity.spec.name} ${keyLabel(key)}`;
  return {
    kind: "Update",
    entity,
    item: key,
    update: [set, remove, add].filter((part) => part !== "").join(" "),
    condition: expression.all(tests),
    expression,
    refused:
      unchanged.length === 0
        ? new NotFound(`there is no ${label}`)
        : new Conflict(`${label} was changed by others`),
  };
}

/** An update with a hand-written expression. */
function expressionStep(spec: WriteSpec, fields: Item): Step {
  const { entity, update = "", names = {}, arguments: values = {} } = spec;
  const expression = new Expression();
  const condition = expression.all([[hashAttribute(entity), "exists"]]);
  Object.assign(expression.names, names);
  for (const [name, value] of Object.entries(values)) {
    expression.values[`:${name}`] = value;
  }
  const key = primaryKey(entity, fields);
  const refused = new NotFound(
    `there is no ${entity.spec.name} ${keyLabel(key)}`,
  );
  return {
    kind: "Update",
    entity,
    item: key,
    update,
    condition,
    expression,
    refused,
  };
}

/** The guards that a change from one state to another takes and gives up. */
function guardSteps(
  entity: AnyEntity,
  guards: readonly Guard[],
  old: Item | undefined,
  now: Item | undefined,
): Step[] {
  const steps: Step[] = [];
  old = old && entity.completed(old);
  now = now && entity.completed(now);
  const isWhole = (guard: Guard, values: Item | undefined) =>
    values !== undefined &&
    guard.fields.every((name) => values[name] !== undefined);
  const owner = (values: Item) => keyLabel(primaryKey(entity, values));
  for (const guard of guards) {
    const { by, fields } = guard;
    const before = isWhole(guard, old) ? old : undefined;
    const after = isWhole(guard, now) ? now : undefined;
    const keyBefore = before && primaryKey(by, before);
    const keyAfter = after && primaryKey(by, after);
    const same =
      keyBefore && keyAfter && keyText(keyBefore) === keyText(keyAfter);
    if (same && old && now && owner(old) === owner(now)) continue;
    const refused = new NotUnique(
      `another ${entity.spec.name} has the same ${fields.join(", ")}`,
    );
    const held = (...owners: string[]): [Expression, string] => {
      const expression = new Expression();
      const free = expression.test([hashAttribute(by), "missing"]);
      return [
        expression,
        `${free} OR ${expression.test([OWNER, "in", ...owners])}`,
      ];
    };
    if (keyBefore && old && !same) {
      const [expression, condition] = held(owner(old));
      steps.push({
        kind: "Delete",
        entity: by,
        item: keyBefore,
        expression,
        condition,
        refused,
      });
    }
    if (keyAfter && after) {
      const owners = old ? [owner(after), owner(old)] : [owner(after)];
      const [expression, condition] = held(...new Set(owners));
      const item: Item = { ...keyAfter };
      for (const [name, field] of Object.entries(by.spec.fields)) {
        if (after[name] !== undefined && name !== OWNER && !field.key_only) {
          item[name] = attributeOf(field, after[name]);
        }
      }
      item[OWNER] = owner(after);
      steps.push({
        kind: "Put",
        entity: by,
        item,
        expression,
        condition,
        refused,
      });
    }
  }
  return steps;
}

function errorName(error: unknown): string {
  return error instanceof Error ? error.name : "";
}

/** What all generated classes share. */
class DesignClient implements Connection {
  /** The document client that requests go through; numbers stay exact in it. */
  readonly client: DynamoDBDocumentClient;

  constructor(
    client: DynamoDBClient,
    private readonly names: Readonly<Record<string, string | undefined>>,
  ) {
    this.client = DynamoDBDocumentClient.from(client, {
      marshallOptions: { removeUndefinedValues: true },
      unmarshallOptions: { wrapNumbers: true },
    });
  }

  nameOf(table: string): string {
    return this.names[table] ?? table;
  }

  protected one<T>(pattern: Pattern): Promise<T | undefined> {
    return this.many<T>(pattern).first();
  }

  protected many<T>(pattern: Pattern): ResultQuery<T> {
    const { find, returns } = pattern;
    const [only] = find;
    const kept = (values: Item) =>
      returns === undefined
        ? values
        : Object.fromEntries(returns.map((name) => [name, values[name]]));
    return new ResultQuery(this, pattern, (item) => {
      if (only !== undefined && find.length === 1) {
        return kept(only.values(item)) as T;
      }
      const entity = find.find((one) => one.owns(item));
      if (entity === undefined) {
        throw new InvalidValue(
          `no entity of \`${pattern.name}\` has the key of an item`,
        );
      }
      return { type: entity.spec.name, item: kept(entity.values(item)) } as T;
    });
  }

  /** A write of the design: one request, or all of it in a transaction. */
  protected async write(specs: readonly WriteSpec[]): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const steps: Step[] = [];
      for (const spec of specs) {
        for (const value of spec.values) {
          steps.push(...(await this.steps(spec, value)));
        }
      }
      refuseTwice(steps);
      const isPlain = steps.every((step) => step.condition === undefined);
      if (specs.length === 1 && isPlain && steps.length > 1) {
        return this.batch(steps);
      }
      try {
        return await this.run(steps);
      } catch (error) {
        // What was read is no longer so: all of it is done again.
        const again = error instanceof Conflict && specs.some(looksFirst);
        if (!again || attempt === MAX_CONFLICTS) throw error;
        await pause(Math.min(attempt, 5));
      }
    }
  }

  /** The steps of a write for one item, which is read first if it must be. */
  private async steps(spec: WriteSpec, value: Item): Promise<readonly Step[]> {
    const { entity, action, guards = [], sets = [], appends = [] } = spec;
    if (action === "expression") return [expressionStep(spec, value)];
    if (action === "check") return [keyStep("ConditionCheck", entity, value)];
    if (action === "create") {
      const full = withShards(entity, value);
      const step = putStep(entity, full, "create");
      return [step, ...guardSteps(entity, guards, undefined, full)];
    }
    if (looksFirst(spec)) {
      const key = primaryKey(entity, value);
      const [item] = await getAll(this, entity, [key], true);
      return changedSteps(spec, value, item);
    }
    if (action === "put") return [putStep(entity, withShards(entity, value))];
    if (action === "delete") return [keyStep("Delete", entity, value)];
    return [updateStep(entity, value, sets, [], appends)];
  }

  /** Does all steps or none: one as a request of its own, several as a transaction. */
  protected async run(steps: readonly Step[]): Promise<void> {
    const [only] = steps;
    if (only === undefined) return;
    try {
      if (steps.length === 1 && only.kind !== "ConditionCheck") {
        await this.alone(only);
      } else {
        const TransactItems = steps.map((step) => this.action(step));
        await this.client.send(new TransactWriteCommand({ TransactItems }));
      }
    } catch (error) {
      if (errorName(error) === "ConditionalCheckFailedException") {
        throw only.refused;
      }
      const { CancellationReasons } = error as {
        CancellationReasons?: readonly { readonly Code?: string }[];
      };
      const codes = (CancellationReasons ?? []).map((reason) => reason.Code);
      const failed = steps[codes.indexOf("ConditionalCheckFailed")];
      if (failed !== undefined) throw failed.refused;
      if (codes.includes("TransactionConflict"))
        throw new Conflict(reasonOf(error));
      throw error;
    }
  }

  private parts(step: Step) {
    const { names, values } = step.expression;
    const isEmpty = (record: object) => Object.keys(record).length === 0;
    return {
      TableName: this.nameOf(step.entity.spec.table),
      ConditionExpression: step.condition,
      ExpressionAttributeNames: isEmpty(names) ? undefined : names,
      ExpressionAttributeValues: isEmpty(values) ? undefined : values,
    };
  }

  private action(step: Step) {
    const parts = this.parts(step);
    switch (step.kind) {
      case "Put":
        return { Put: { ...parts, Item: step.item } };
      case "Update":
        return {
          Update: {
            ...parts,
            Key: step.item,
            UpdateExpression: step.update ?? "",
          },
        };
      case "Delete":
        return { Delete: { ...parts, Key: step.item } };
      case "ConditionCheck":
        return {
          ConditionCheck: {
            ...parts,
            Key: step.item,
            ConditionExpression: step.condition ?? "",
          },
        };
    }
  }

  private async alone(step: Step): Promise<void> {
    const parts = this.parts(step);
    if (step.kind === "Put") {
      await this.client.send(new PutCommand({ ...parts, Item: step.item }));
    } else if (step.kind === "Update") {
      const UpdateExpression = step.update === "" ? undefined : step.update;
      await this.client.send(
        new UpdateCommand({ ...parts, Key: step.item, UpdateExpression }),
      );
    } else {
      await this.client.send(new DeleteCommand({ ...parts, Key: step.item }));
    }
  }

  protected async fetch(
    entity: AnyEntity,
    fields: Item,
    consistent: boolean,
  ): Promise<Item | undefined> {
    const key = primaryKey(entity, fields);
    const [item] = await getAll(this, entity, [key], consistent);
    return item === undefined ? undefined : entity.values(item);
  }

  /** Writes an item in place of any other, with its guards. */
  protected put(
    entity: AnyEntity,
    value: Item,
    guards: readonly Guard[],
  ): Promise<void> {
    return this.write([{ entity, action: "put", values: [value], guards }]);
  }

  /** Writes an item unless there is one with its key. */
  protected create(
    entity: AnyEntity,
    value: Item,
    guards: readonly Guard[],
  ): Promise<void> {
    return this.write([{ entity, action: "create", values: [value], guards }]);
  }

  protected remove(
    entity: AnyEntity,
    fields: Item,
    guards: readonly Guard[],
  ): Promise<void> {
    return this.write([{ entity, action: "delete", values: [fields], guards }]);
  }

  /** Changes fields of an item, and whatever keys and guards follow from them. */
  protected async update(
    entity: AnyEntity,
    fields: Item,
    changes: Item,
    guards: readonly Guard[],
  ): Promise<void> {
    const sets = Object.keys(changes);
    for (const name of sets) {
      const field = entity.spec.fields[name];
      if (field === undefined) {
        throw new InvalidValue(`\`${entity.spec.name}\` has no \`${name}\``);
      }
      const isNeeded = !field.optional && field.kind !== "shard";
      if (isNeeded && changes[name] === undefined) {
        throw new InvalidValue(`\`${entity.spec.name}\` needs \`${name}\``);
      }
    }
    const values = [{ ...fields, ...changes }];
    return this.write([{ entity, action: "change", values, guards, sets }]);
  }

  /** Puts or deletes without conditions, 25 to a request. */
  protected async batch(steps: readonly Step[]): Promise<void> {
    let waiting = steps.map(({ kind, entity, item }) => ({
      table: this.nameOf(entity.spec.table),
      request:
        kind === "Put"
          ? { PutRequest: { Item: item } }
          : { DeleteRequest: { Key: item } },
    }));
    for (let attempt = 0; waiting.length > 0;) {
      const RequestItems: Record<string, object[]> = {};
      const now = waiting.slice(0, 25);
      for (const { table, request } of now) {
        (RequestItems[table] ??= []).push(request);
      }
      const answer = await this.client.send(
        new BatchWriteCommand({ RequestItems }),
      );
      const left = Object.entries(answer.UnprocessedItems ?? {}).flatMap(
        ([table, requests]) => requests.map((request) => ({ table, request })),
      ) as typeof waiting;
      waiting = [...left, ...waiting.slice(25)];
      attempt = left.length < now.length ? 0 : attempt + 1;
      await pause(left.length > 0 ? attempt : 0);
    }
  }
}

/** Whether guards or keys depend on what an item was before. */
function looksFirst({ action, guards = [] }: WriteSpec): boolean {
  const isGuarded = action === "put" || action === "delete";
  return action === "change" || (isGuarded && guards.length > 0);
}

/** The steps that make another item of the one that was read. */
function changedSteps(
  spec: WriteSpec,
  value: Item,
  item: Item | undefined,
): readonly Step[] {
  const { entity, action, guards = [], sets = [], appends = [] } = spec;
  const old = item && entity.values(item);
  if (action === "put") {
    const full = withShards(entity, value);
    const unchanged: readonly Test[] =
      item === undefined
        ? [[hashAttribute(entity), "missing"]]
        : guarded(entity, guards, item);
    const step = putStep(entity, full, { unchanged });
    return [step, ...guardSteps(entity, guards, old, full)];
  }
  if (action === "delete") {
    if (item === undefined) return [];
    const tests = guarded(entity, guards, item);
    const step = keyStep("Delete", entity, value, tests);
    return [step, ...guardSteps(entity, guards, old, undefined)];
  }
  if (item === undefined) {
    const key = keyLabel(primaryKey(entity, value));
    throw new NotFound(`there is no ${entity.spec.name} ${key}`);
  }
  const pick = (names: readonly string[]): Item =>
    Object.fromEntries(names.map((name) => [name, value[name]]));
  const { hash, range } = entity.table.primary;
  const identity = [...hash, ...range]
    .flatMap((attribute) => entity.dependencies(attribute))
    .filter((name) => value[name] !== undefined);
  const now = {
    ...value,
    ...old,
    ...pick(identity),
    ...pick([...sets, ...appends]),
  };
  const affected = Object.keys(entity.spec.keys)
    .map((attribute) => entity.dependencies(attribute))
    .filter((names) => names.some((name) => sets.includes(name)));
  const sources = [...affected.flat(), ...guards.flatMap((g) => g.fields)];
  const tests = unchangedTests(entity, sources, item);
  const step = updateStep(entity, now, sets, tests, appends);
  return [step, ...guardSteps(entity, guards, old, now)];
}

/** Two items of one write cannot have the same unique fields. */
function refuseTwice(steps: readonly Step[]): void {
  const seen = new Set<string>();
  for (const { entity, item, refused } of steps) {
    const { hash, range } = entity.table.primary;
    const key = [...hash, ...range].map((name) => [name, item[name]]);
    const place = `${entity.spec.table} ${keyText(Object.fromEntries(key))}`;
    if (seen.has(place) && refused instanceof NotUnique) throw refused;
    seen.add(place);
  }
}

/** The values with a shard for each field that has a random one and none yet. */
function withShards(entity: AnyEntity, value: Item): Item {
  const values = { ...value };
  for (const [name, field] of Object.entries(entity.spec.fields)) {
    if (field.kind === "shard" && field.by === undefined) {
      values[name] ??= Math.floor(Math.random() * (field.shards ?? 1));
    }
  }
  return values;
}

/** Tests that these fields are as they were read; what only keys have, by those keys. */
function unchangedTests(
  entity: AnyEntity,
  names: readonly string[],
  item: Item,
): Test[] {
  const { hash, range } = entity.table.primary;
  const keys = Object.keys(entity.spec.keys).filter(
    (attribute) => !hash.includes(attribute) && !range.includes(attribute),
  );
  const attributes = names.flatMap((name) => {
    const field = entity.field(name);
    const isInKeys = field.key_only || field.kind === "shard";
    if (!isInKeys) return [name];
    return keys.filter((key) => entity.templateOf(key).fields().includes(name));
  });
  return [...new Set(attributes)].map((name): Test => {
    const value = item[name];
    return value === undefined ? [name, "missing"] : [name, "=", value];
  });
}

function guarded(
  entity: AnyEntity,
  guards: readonly Guard[],
  item: Item,
): readonly Test[] {
  const names = guards.flatMap((guard) => guard.fields);
  return [
    [hashAttribute(entity), "exists"],
    ...unchangedTests(entity, names, item),
  ];
}
