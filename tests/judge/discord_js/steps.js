// discord.js does on the twin what its users do on Discord.  Run by test_discord_js.py, which holds
// the twin: a line with "do" asks it to act, a line with "step" tells how a step went.
"use strict";
const assert = require("node:assert/strict");
const readline = require("node:readline");
const {
  ActionRowBuilder,
  AttachmentBuilder,
  ButtonBuilder,
  ButtonStyle,
  ChannelType,
  Client,
  ContainerBuilder,
  EmbedBuilder,
  GatewayIntentBits,
  MessageFlags,
  MessageType,
  Partials,
  SlashCommandBuilder,
  TextDisplayBuilder,
  WebhookClient,
} = require("discord.js");

const { API, TOKEN, GUILD, CHANNEL } = process.env;
const THUMB = "\u{1F44D}";
const STEP_MS = 20_000;

// The twin, in the process that started this one.

const waiting = new Map();
const write = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
let calls = 0;

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, value, error } = JSON.parse(line);
  const { resolve, reject } = waiting.get(id);
  waiting.delete(id);
  if (error) reject(new Error(error));
  else resolve(value);
});

const twin = (name, ...args) =>
  new Promise((resolve, reject) => {
    calls += 1;
    waiting.set(calls, { resolve, reject });
    write({ do: name, args, id: calls });
  });

// The client, and all it was told.

const every = (bits) => Object.values(bits).filter((one) => typeof one === "number");
const client = new Client({
  intents: every(GatewayIntentBits),
  partials: every(Partials),
  rest: { api: API },
});
const heard = [];
const emit = client.emit.bind(client);
client.emit = (name, ...told) => {
  heard.push({ name, told });
  return emit(name, ...told);
};

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
async function until(holds, ms = 8_000) {
  const end = Date.now() + ms;
  for (;;) {
    const found = await holds();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited in vain: ${holds}`);
    await sleep(10);
  }
}

// What came after the step began, so that steps do not see each other's events.
let begin = 0;
const since = (name) => heard.slice(begin).filter((one) => one.name === name);
const hears = async (name, ms) => (await until(() => since(name)[0], ms)).told;
async function asked(text, settings) {
  const id = await twin("say", text, settings);
  return until(() => client.channels.cache.get(CHANNEL)?.messages.cache.get(id));
}
async function refused(call) {
  try {
    await call;
  } catch (error) {
    return [error.status, error.code];
  }
  throw new Error("it was not refused");
}

const steps = [];
const step = (name, run) => steps.push({ name, run });
const guild = () => client.guilds.cache.get(GUILD);
const channel = () => client.channels.cache.get(CHANNEL);

step("log in and know the server", async () => {
  await client.login(TOKEN);
  await hears("clientReady");
  assert.equal(guild().name, "The Twin");
  assert.equal(guild().members.cache.size, 2);
  assert.ok(channel().permissionsFor(guild().members.me).has("SendMessages"));
});

step("hear, reply, edit, delete", async () => {
  const question = await asked("hello");
  assert.deepEqual([question.content, question.author.username], ["hello", "ann"]);
  assert.ok(question.member);
  const answer = await question.reply("pong");
  assert.equal(answer.type, MessageType.Reply);
  assert.equal(answer.reference.messageId, question.id);
  await answer.edit("pong!");
  const [before, after] = await hears("messageUpdate");
  assert.deepEqual([before.content, after.content], ["pong", "pong!"]);
  await answer.delete();
  assert.equal((await hears("messageDelete"))[0].id, answer.id);
});

step("list messages", async () => {
  const first = await asked("first");
  const second = await asked("second");
  const found = await channel().messages.fetch({ limit: 2, cache: false });
  assert.deepEqual([...found.keys()], [second.id, first.id]);
  const earlier = await channel().messages.fetch({ limit: 1, before: second.id, cache: false });
  assert.deepEqual([...earlier.keys()], [first.id]);
});

step("show typing", async () => {
  await channel().sendTyping();
  assert.equal((await hears("typingStart"))[0].user.id, client.user.id);
});

step("send an embed", async () => {
  const embed = new EmbedBuilder().setTitle("T").setDescription("D").setTimestamp();
  const sent = await channel().send({ embeds: [embed.addFields({ name: "n", value: "v" })] });
  assert.equal(sent.embeds[0].fields[0].value, "v");
});

const text = (data, settings) => new AttachmentBuilder(Buffer.from(data), settings);
const read = async (one) => (await fetch(one.url)).text();

step("upload a file and read it", async () => {
  const sent = await channel().send({ files: [text("data", { name: "a b.txt" })] });
  assert.equal(await read(sent.attachments.first()), "data");
});

step("upload files of one name, described", async () => {
  const files = ["one", "two"].map((x) => text(x, { name: "x.txt", description: x }));
  const sent = [...(await channel().send({ files })).attachments.values()];
  assert.deepEqual(await Promise.all(sent.map(read)), ["one", "two"]);
  assert.deepEqual(sent.map((one) => one.description), ["one", "two"]);
});

step("delete in bulk", async () => {
  const sent = [];
  for (const one of ["1", "2", "3"]) sent.push(await channel().send(one));
  await channel().bulkDelete(sent);
  assert.equal((await hears("messageDeleteBulk", 2_000))[0].size, 3);
});

step("react, list and clear reactions", async () => {
  const question = await asked("react");
  await question.react(THUMB);
  await hears("messageReactionAdd");
  await twin("react", question.id, THUMB, "bob");
  await until(() => since("messageReactionAdd").length === 2);
  const found = await channel().messages.fetch({ message: question.id, force: true, cache: false });
  const reaction = found.reactions.cache.get(THUMB);
  assert.deepEqual([reaction.count, reaction.me], [2, true]);
  assert.equal((await reaction.users.fetch()).size, 2);
  await reaction.users.remove(client.user);
  await hears("messageReactionRemove");
  await question.reactions.removeAll();
  await hears("messageReactionRemoveAll");
});

step("pin and unpin", async () => {
  const question = await asked("pin this");
  await question.pin();
  await hears("channelPinsUpdate");
  const { items } = await channel().messages.fetchPins();
  assert.deepEqual(items.map((one) => one.message.id), [question.id]);
  await until(() => since("messageCreate").some((x) => x.told[0].type === MessageType.ChannelPinnedMessage));
  await question.unpin();
  assert.equal((await channel().messages.fetchPins()).items.length, 0);
});

step("speak through a webhook", async () => {
  const hook = await channel().createWebhook({ name: "hook" });
  await hears("webhooksUpdate");
  const sent = await hook.send({ content: "via", username: "Mira" });
  assert.deepEqual([sent.author.username, sent.webhookId], ["Mira", hook.id]);
  await hook.editMessage(sent.id, "edited");
  assert.equal((await hook.fetchMessage(sent.id)).content, "edited");
  await hook.deleteMessage(sent.id);
  assert.equal((await channel().fetchWebhooks()).size, 1);
  const byToken = new WebhookClient({ id: hook.id, token: hook.token }, { rest: { api: API } });
  await byToken.send("by its token");
  await hook.delete();
});

step("see the face of a webhook", async () => {
  const hook = await channel().createWebhook({ name: "faces" });
  const sent = await hook.send({ content: "x", avatarURL: "https://example.com/a.png" });
  assert.ok(!String(sent.author.avatar).startsWith("http"));
});

step("begin a thread, archive, list, open", async () => {
  const start = await channel().send("start");
  const thread = await start.startThread({ name: "talk", autoArchiveDuration: 60 });
  await hears("threadCreate");
  await thread.send("in the thread");
  assert.equal((await thread.members.fetch()).size, 1);
  await thread.setArchived(true);
  const { threads } = await channel().threads.fetchArchived();
  assert.deepEqual([...threads.keys()], [thread.id]);
  await thread.setArchived(false);
  assert.equal((await channel().threads.fetchArchived()).threads.size, 0);
  const free = await channel().threads.create({ name: "free", type: ChannelType.PublicThread });
  assert.ok((await channel().threads.fetchActive()).threads.has(free.id));
});

step("know the thread of a message", async () => {
  const start = await channel().send("start");
  await start.startThread({ name: "talk" });
  assert.ok((await channel().messages.fetch({ message: start.id, force: true })).hasThread);
});

const described = (name) => new SlashCommandBuilder().setName(name).setDescription(name);

step("register commands", async () => {
  const ask = described("ask").addStringOption((o) => o.setName("q").setDescription("q"));
  const who = described("who").addUserOption((o) => o.setName("who").setDescription("w"));
  await client.application.commands.set([ask, who, described("quick")]);
  await client.application.commands.create({ name: "quick", description: "again" });
  assert.equal((await client.application.commands.fetch()).size, 3);
  assert.equal((await client.application.fetch()).id, client.user.id);
});

step("defer, answer, follow up", async () => {
  await twin("slash", "ask", { q: "why" });
  const [used] = await hears("interactionCreate");
  await used.deferReply();
  await used.editReply(`answer to ${used.options.getString("q")}`);
  const more = await used.followUp("more");
  await more.edit("more!");
  assert.equal((await used.fetchReply()).interactionMetadata.user.username, "ann");
  assert.deepEqual((await twin("texts")).slice(-2), ["answer to why", "more!"]);
});

step("answers are of their types", async () => {
  await twin("slash", "ask", { q: "why" });
  const [used] = await hears("interactionCreate");
  await used.reply("yes");
  assert.equal((await used.fetchReply()).type, MessageType.ChatInputCommand);
  assert.equal((await used.followUp("more")).type, MessageType.Reply);
});

step("take a member as an option", async () => {
  await twin("slash", "who", {}, "bob");
  const [used] = await hears("interactionCreate");
  await used.reply("x");
  assert.equal(used.options.getMember("who")?.user.username, "bob");
});

step("answer in private, once", async () => {
  await twin("slash", "quick", {});
  const [used] = await hears("interactionCreate");
  await used.reply({ content: "psst", flags: MessageFlags.Ephemeral });
  const [told] = await hears("messageCreate");
  assert.equal(told.content, "psst");
  used.replied = false;
  assert.deepEqual(await refused(used.reply("again")), [400, 40060]);
  used.replied = true;
  await used.deleteReply();
});

step("press a button", async () => {
  const button = new ButtonBuilder().setCustomId("p").setLabel("P").setStyle(ButtonStyle.Primary);
  const components = [new ActionRowBuilder().addComponents(button)];
  const sent = await channel().send({ content: "press it", components });
  await twin("click", sent.id, "p");
  const [used] = await hears("interactionCreate");
  await used.update({ content: "pressed", components: [] });
  assert.equal((await twin("texts")).at(-1), "pressed");
});

step("send components v2", async () => {
  const inside = new ContainerBuilder().addTextDisplayComponents(new TextDisplayBuilder().setContent("in"));
  const components = [new TextDisplayBuilder().setContent("above"), inside];
  const sent = await channel().send({ flags: MessageFlags.IsComponentsV2, components });
  assert.equal(sent.components.length, 2);
});

step("find people", async () => {
  const { author } = await asked("who am I", { user: "ann" });
  assert.equal((await client.users.fetch(author.id, { force: true })).username, "ann");
  const member = await guild().members.fetch({ user: author.id, force: true });
  assert.equal(member.displayName, "ann");
  const found = await guild().members.fetch({ query: "AN", limit: 10 });
  assert.deepEqual(found.map((one) => one.user.username), ["ann"]);
  assert.ok((await guild().members.fetch()).size >= 3);
  assert.equal((await guild().members.search({ query: "ann" })).size, 1);
  assert.equal((await guild().roles.fetch()).size, 2);
  assert.equal((await client.channels.fetch(CHANNEL, { force: true })).name, "general");
  await author.send("psst");
});

step("be refused with codes", async () => {
  assert.deepEqual(await refused(channel().send("x".repeat(2001))), [400, 50035]);
  assert.deepEqual(await refused(channel().messages.fetch("1")), [404, 10008]);
  const question = await asked("mine");
  assert.deepEqual(await refused(question.react("notanemoji")), [400, 10014]);
  assert.deepEqual(await refused(question.edit("yours")), [403, 50005]);
});

for (const scope of ["user", "shared", "global"])
  step(`outlive a 429 of scope ${scope}`, async () => {
    await twin("limited", scope);
    await channel().send(`after ${scope}`);
    assert.equal((await twin("texts")).at(-1), `after ${scope}`);
  });

step("outlive a 502", async () => {
  await twin("status", 502);
  await channel().send("after 502");
});

step("send a burst", async () => {
  const texts = [...Array(9).keys()].map((one) => `burst ${one}`);
  await Promise.all(texts.map((one) => channel().send(one)));
  assert.deepEqual((await twin("texts")).slice(-9), texts);
});

for (const [name, ...how] of [["reconnect"], ["disconnect", 4000]])
  step(`resume after ${name}`, async () => {
    await twin(name, ...how);
    await twin("say", `after ${name}`);
    await hears("shardResume", 15_000);
    await until(() => since("messageCreate").some((one) => one.told[0].content === `after ${name}`));
  });

step("begin anew after an invalid session", async () => {
  await twin("invalidate");
  await hears("shardReady", 15_000);
  await asked("after op 9");
});

step("meet no error of its own", () => {
  const errors = heard.filter((one) => ["error", "shardError", "warn"].includes(one.name));
  assert.deepEqual(errors.map((one) => String(one.told[0])), []);
});

async function main() {
  for (const { name, run } of steps) {
    begin = heard.length;
    let error = null;
    const late = setTimeout(() => write({ step: name, error: "it takes too long" }), STEP_MS);
    try {
      await run();
    } catch (problem) {
      error = String(problem.stack ?? problem);
    }
    clearTimeout(late);
    write({ step: name, error });
  }
  await client.destroy();
  process.exit(0);
}

write({ steps: steps.map((one) => one.name) });
main();
