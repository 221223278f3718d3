// The items of the task-management design that development and tests without `keyloom demo --serve` use:
// deterministic, a few of everything, and one busy project.

let seed = 7;
const random = () => ((seed = (seed * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff);
const pick = (list) => list[Math.floor(random() * list.length)];
const CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const ulid = () => "01HM" + Array.from({ length: 22 }, () => CROCKFORD[Math.floor(random() * 32)]).join("");
const S = (value) => ({ S: value });
const day = (n) => new Date(Date.UTC(2026, 9, 1) + n * 86400000).toISOString();
const words = "plan review ship measure design index partition cache deploy check invoice search".split(" ");
const phrase = (n) => Array.from({ length: n }, () => pick(words)).join(" ");

/** The items, as DynamoDB JSON. */
export function items() {
  seed = 7;
  const out = [];
  const users = Array.from({ length: 40 }, (_, n) => ({ id: ulid(), name: `User ${n}`, email: `user${n}@example.com` }));
  for (const user of users) {
    out.push({ PK: S(`USER#${user.id}`), SK: S("PROFILE"), GSI1PK: S(`EMAIL#${user.email}`), GSI1SK: S(`USER#${user.id}`),
      entity: S("User"), user_id: S(user.id), email: S(user.email), name: S(user.name) });
  }
  for (let t = 0; t < 6; t++) {
    const team = ulid();
    out.push({ PK: S(`TEAM#${team}`), SK: S("METADATA"), entity: S("Team"), team_id: S(team), name: S(`Team ${t}`), description: S(phrase(8)) });
    for (let m = 0; m < 8; m++) {
      const user = users[(t * 7 + m) % users.length];
      out.push({ PK: S(`USER#${user.id}`), SK: S(`TEAM#${team}`), GSI1PK: S(`TEAM#${team}`), GSI1SK: S(`USER#${user.id}`),
        entity: S("Membership"), user_id: S(user.id), team_id: S(team), role: S(m ? "Member" : "Admin"), joined_at: S(day(m).slice(0, 10)) });
    }
    for (let p = 0; p < 4; p++) {
      const project = ulid();
      out.push({ PK: S(`TEAM#${team}`), SK: S(`PROJECT#${project}`), GSI1PK: S(`PROJECT#${project}`), GSI1SK: S("METADATA"),
        entity: S("Project"), team_id: S(team), project_id: S(project), name: S(`Project ${phrase(2)}`), description: S(phrase(12)), status: S("In Progress") });
      for (let k = 0; k < (t === 0 && p === 0 ? 400 : 25); k++) {
        const task = ulid();
        const status = pick(["Todo", "In Progress", "Done"]);
        const due = day(Math.floor(random() * 90)).slice(0, 10);
        const item = { PK: S(`PROJECT#${project}`), SK: S(`TASK#${task}`), GSI1PK: S(`TASK#${task}`), GSI1SK: S("METADATA"),
          entity: S("Task"), project_id: S(project), task_id: S(task), title: S(phrase(3)), description: S(phrase(30)),
          status: S(status), created_at: S(day(k % 40).slice(0, 19) + "Z"), due_date: S(due) };
        if (status !== "Done") Object.assign(item, { GSI2PK: S(`PROJECT#${project}`), GSI2SK: S(`DUE#${due}#${task}`) });
        out.push(item);
        if (k < 3) {
          const user = pick(users), at = day(k);
          out.push({ PK: S(`USER#${user.id}`), SK: S(`ASSIGNED#TASK#${task}`), GSI1PK: S(`USER#${user.id}`), GSI1SK: S(`ACTIVITY#${at}#ASSIGNED#${task}`),
            GSI2PK: S(`TASK#${task}`), GSI2SK: S(`ASSIGNEE#USER#${user.id}`), entity: S("Assignment"), task_id: S(task), project_id: S(project), user_id: S(user.id), happened_at: S(at) });
          const comment = ulid();
          out.push({ PK: S(`TASK#${task}`), SK: S(`COMMENT#${at}#${comment}`), GSI1PK: S(`USER#${user.id}`), GSI1SK: S(`ACTIVITY#${at}#COMMENT#${comment}`),
            entity: S("Comment"), task_id: S(task), comment_id: S(comment), user_id: S(user.id), content: S(phrase(15)), happened_at: S(at) });
          out.push({ PK: S(`TASK#${task}`), SK: S(`TAG#${pick(words)}`), GSI1PK: S(`TAG#${pick(words)}`), GSI1SK: S(`TASK#${task}`),
            entity: S("Tag"), task_id: S(task), project_id: S(project), tag: S("x"), added_at: S(at.slice(0, 10)) });
        }
      }
    }
  }
  return out;
}

/** One DynamoDB call. */
export async function call(endpoint, operation, body, headers = {}) {
  const response = await fetch(endpoint, {
    method: "POST",
    headers: { "content-type": "application/x-amz-json-1.0", "x-amz-target": `DynamoDB_20120810.${operation}`, ...headers },
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${operation}: ${JSON.stringify(answer)}`);
  return answer;
}

/** Writes items to a table, 25 at a time. */
export async function load(endpoint, table, all) {
  for (let n = 0; n < all.length; n += 25) {
    const requests = all.slice(n, n + 25).map((Item) => ({ PutRequest: { Item } }));
    await call(endpoint, "BatchWriteItem", { RequestItems: { [table]: requests } });
  }
}

/** Some traffic: mostly one project, its tasks and comments. */
export async function traffic(endpoint, rounds) {
  const all = items();
  const tasks = all.filter((item) => item.entity.S === "Task");
  const hot = tasks[0].PK;
  for (let n = 0; n < rounds; n++) {
    const task = tasks[(n * n) % 97 % tasks.length];
    await Promise.all([
      call(endpoint, "Query", { TableName: "tasks", KeyConditionExpression: "PK = :p AND begins_with(SK, :s)",
        ExpressionAttributeValues: { ":p": n % 3 ? hot : task.PK, ":s": S("TASK#") }, Limit: 50 }),
      call(endpoint, "GetItem", { TableName: "tasks", Key: { PK: task.PK, SK: task.SK } }),
      call(endpoint, "PutItem", { TableName: "tasks", Item: task }),
    ]);
  }
}

if (process.argv[1]?.endsWith("demo-data.mjs")) {
  const [endpoint, rounds] = process.argv.slice(2);
  await load(endpoint, "tasks", items());
  await traffic(endpoint, Number(rounds ?? 200));
}
