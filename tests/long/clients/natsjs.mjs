// The scenarios with nats.js: `node natsjs.mjs URL SCENARIO`, with the protocol of talk.py.

import { createInterface } from "node:readline";
import { connect } from "@nats-io/transport-node";
import { AckPolicy, jetstream, jetstreamManager } from "@nats-io/jetstream";

const [url, name] = process.argv.slice(2);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (what) => process.stdout.write(JSON.stringify(what) + "\n");
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function ask(word) {
  say({ ask: word });
  await lines.next();
}

const nc = await connect({ servers: url, name: "nats.js", reconnectTimeWait: 200, maxReconnectAttempts: -1 });
const js = jetstream(nc, { timeout: 5000 });

const consumer = () => js.consumers.get("S", "C");

// Leaving a `for await` would close the messages, and an iterator can be had once only.
const iterated = (messages) => Object.assign(messages, { iterator: messages[Symbol.asyncIterator]() });

async function taken(messages, wanted) {
  for (let got = 0; got < wanted; got++) {
    const { value, done } = await messages.iterator.next();
    if (done) return got;
    value.ack();
  }
  return wanted;
}

async function passed(messages, wanted) {
  for (let got = 0; got < wanted; got++) await messages.iterator.next();
}

async function whileConsuming(what, options = {}) {
  const messages = iterated(await (await consumer()).consume({ max_messages: 10, expires: 5000, idle_heartbeat: 1000, ...options }));
  await taken(messages, 10);
  await ask(what);
  await ask("publish");
  await taken(messages, 10);
  messages.stop();
}

const SCENARIOS = {
  async fetch() {
    const c = await consumer();
    for (let at = 0; at < 2; at++) await taken(iterated(await c.fetch({ max_messages: 10, expires: 5000 })), 10);
    await taken(iterated(await c.fetch({ max_messages: 20, expires: 2000 })), 20);
  },
  async consume() {
    const messages = iterated(await (await consumer()).consume({ max_messages: 50, expires: 5000, idle_heartbeat: 1000 }));
    await taken(messages, 100);
    messages.stop();
  },
  heartbeat: () => whileConsuming("freeze"),
  restart: () => whileConsuming("restart"),
  leader: () => whileConsuming("stepdown"),
  async max_messages_1() {
    const messages = iterated(await (await consumer()).consume({ max_messages: 1, expires: 5000 }));
    await taken(messages, 20);
    messages.stop();
  },
  async byte_bounded() {
    const c = await consumer();
    // A fetch that has used up its bytes ends with an error here.
    await taken(iterated(await c.fetch({ max_bytes: 1500, expires: 2000 })), 1000).catch(() => undefined);
    const messages = iterated(await c.consume({ max_bytes: 3000, expires: 5000, idle_heartbeat: 1000 }));
    await taken(messages, 30);
    messages.stop();
  },
  async deleted() {
    const messages = iterated(await (await consumer()).consume({ max_messages: 10, expires: 5000, idle_heartbeat: 1000 }));
    await taken(messages, 10);
    await ask("delete");
    await Promise.race([taken(messages, 1).catch(() => undefined), sleep(8000)]);
    messages.stop();
  },
  async flow_control() {
    const jsm = await jetstreamManager(nc);
    await jsm.consumers.add("S", {
      name: "F", deliver_subject: "deliver.flow", ack_policy: AckPolicy.Explicit, flow_control: true,
      idle_heartbeat: 1_000_000_000, max_ack_pending: 1000,
    });
    const messages = iterated(await (await js.consumers.getPushConsumer("S", "F")).consume());
    await taken(messages, 300);
    await sleep(2500);
    messages.stop();
  },
  async ordered() {
    const messages = iterated(await (await js.consumers.get("S", {})).consume({ max_messages: 20, expires: 5000, idle_heartbeat: 1000 }));
    await passed(messages, 20);
    await ask("delete all");
    await ask("publish");
    await passed(messages, 90);
    messages.stop();
  },
  async ordered_push() {
    const messages = iterated(await (await js.consumers.getPushConsumer("S")).consume());
    await passed(messages, 20);
    await ask("delete all");
    await ask("publish");
    await passed(messages, 90);
    messages.stop();
  },
  async window() {
    await Promise.all(Array.from({ length: 200 }, () => js.publish("s.w", "x".repeat(20))));
  },
  async tokens() {
    const msgs = [];
    for await (const msg of await (await consumer()).fetch({ max_messages: 10, expires: 5000 })) msgs.push(msg);
    msgs[0].ack();
    msgs[1].nak();
    msgs[2].working();
    await msgs[2].ackAck({ timeout: 5000 });
    msgs[3].term("not wanted");
    msgs[4].nak(1000);
    for (const msg of msgs.slice(5)) msg.ack();
    await nc.flush();
  },
};

await SCENARIOS[name]();
await nc.close();
say({ done: true });
process.exit(0);
