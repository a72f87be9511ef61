// The worker of Node: it performs and times the operations of node:crypto and of npm's packages for
// the lab, as lab/workers/PROTOCOL.md defines. It is run from beside the packages (see the registry); one
// that is not there is left out.
import crypto from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { WASI } from "node:wasi";

const SETS = ["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"];
const KEM_SETS = ["ML-KEM-512", "ML-KEM-768", "ML-KEM-1024"];
const HASH_SETS = ["SHA2", "SHAKE"].flatMap((hash) =>
  ["128s", "128f", "192s", "192f", "256s", "256f"].map((size) => `SLH-DSA-${hash}-${size}`),
);
// For each operation the fields that an input has, and those that it may have.
const FIELDS = {
  keygen: [["seed"], []],
  sign: [["message", "context"], ["seed", "sk", "pk", "rnd"]],
  verify: [["pk", "message", "context", "signature"], []],
  encaps: [["pk"], ["rnd"]],
  decaps: [["ciphertext"], ["seed", "sk", "pk"]],
};

// What a package announces, and its operations: each takes a set and an input's fields, makes key
// objects where the package has them, and gives a function without arguments, which is all that is
// timed. It returns the signature, whether the signature is accepted, or for keygen the public key
// and, where the package gives it as bytes, the private key; encapsulation gives ciphertext and shared
// secret. What a package throws is the input's failure; of a verification it is a refusal.

function nodeCrypto() {
  const typed = (name, key, format) => ({ key, format, asymmetricKeyType: name.toLowerCase() });
  const publicKey = (name, f) => crypto.createPublicKey(typed(name, f.pk, "raw-public"));
  const fromSeed = (name, f) => crypto.createPrivateKey(typed(name, f.seed, "raw-seed"));
  const fromBytes = (name, f) => crypto.createPrivateKey(typed(name, f.sk, "raw-private"));
  const made = "key objects are made before the clock starts";
  const about = `node:crypto by OpenSSL ${process.versions.openssl}; ${made}`;
  const common = {
    version: process.versions.node,
    language: "C",
    backend: "native",
    rnd: "none",
    warmup: 0,
  };
  const keygen = (name, f) => () => {
    const key = fromSeed(name, f);
    return [crypto.createPublicKey(key).export({ format: "raw-public" })];
  };
  const signing = (privateKey) => ({
    context: "yes",
    sign: (name, f) => {
      const key = { key: privateKey(name, f), context: f.context };
      return () => crypto.sign(null, f.message, key);
    },
    verify: (name, f) => {
      const key = { key: publicKey(name, f), context: f.context };
      return () => crypto.verify(null, f.message, key, f.signature);
    },
  });
  const both = "keygen gives the private key object and the encoded public key";
  const kem = {
    ...common,
    implementation: "node-crypto-ml-kem",
    family: "ml-kem",
    sets: KEM_SETS,
    context: "no",
    private_keys: "seed",
  };
  return [
    {
      ...common,
      ...signing(fromSeed),
      implementation: "node-crypto",
      private_keys: "seed",
      note: `${about}, from the seed or the public key's bytes; signs hedged only; ${both}`,
      keygen,
    },
    { ...kem, operations: "keygen", note: `${about}; ${both}`, keygen },
    {
      ...kem,
      key: "expanded",
      operations: "encaps decaps",
      note: `${about}, from the seed or the public key's bytes, and hold A-hat; draws m itself`,
      encaps: (name, f) => {
        const key = publicKey(name, f);
        return () => {
          const { ciphertext, sharedKey } = crypto.encapsulate(key);
          return [ciphertext, sharedKey];
        };
      },
      decaps: (name, f) => {
        const key = fromSeed(name, f);
        return () => crypto.decapsulate(key, f.ciphertext);
      },
    },
    {
      ...common,
      ...signing(fromBytes),
      implementation: "node-crypto-slh-dsa",
      family: "slh-dsa",
      sets: HASH_SETS,
      operations: "sign verify",
      private_keys: "sk",
      note: `${about}, from their bytes; signs hedged only; makes keys from its own randomness only`,
    },
  ];
}

async function noble() {
  const schemes = {
    ...(await import("@noble/post-quantum/ml-dsa.js")),
    ...(await import("@noble/post-quantum/ml-kem.js")),
  };
  const scheme = (name) => schemes[name.toLowerCase().replace("-", "_").replace("-", "")];
  const common = {
    version: versionOf("@noble/post-quantum"),
    language: "JavaScript",
    backend: "portable",
    rnd: "given",
    private_keys: "sk",
    warmup: WARMUP,
    keygen: (name, f) => () => {
      const pair = scheme(name).keygen(f.seed);
      return [pair.publicKey, pair.secretKey];
    },
  };
  return [
    {
      ...common,
      implementation: "noble-post-quantum",
      context: "yes",
      note: "JavaScript alone; takes keys as bytes; rnd is given as extraEntropy",
      sign: (name, f) => {
        const options = { context: f.context, extraEntropy: f.rnd };
        return () => scheme(name).sign(f.message, f.sk, options);
      },
      verify: (name, f) => () =>
        scheme(name).verify(f.signature, f.message, f.pk, { context: f.context }),
    },
    {
      ...common,
      implementation: "noble-post-quantum-ml-kem",
      family: "ml-kem",
      sets: KEM_SETS,
      operations: "keygen encaps decaps",
      context: "no",
      note: "JavaScript alone; takes keys as bytes; m is given",
      encaps: (name, f) => () => {
        const { cipherText, sharedSecret } = scheme(name).encapsulate(f.pk, f.rnd);
        return [cipherText, sharedSecret];
      },
      decaps: (name, f) => () => scheme(name).decapsulate(f.ciphertext, f.sk),
    },
  ];
}

async function liboqs() {
  const schemes = await import("@oqs/liboqs-js/sig");
  const made = new Map();
  for (const name of SETS) made.set(name, await schemes[`create${name.replaceAll("-", "")}`]());
  const variant = {
    implementation: "liboqs-js",
    version: versionOf("@oqs/liboqs-js"),
    language: "C",
    backend: "wasm",
    operations: "sign verify",
    rnd: "none",
    context: "no",
    private_keys: "sk",
    warmup: WARMUP,
    note:
      "liboqs as WebAssembly, in a version that the package does not tell; takes keys as bytes; signs " +
      "hedged only; makes keys from its own randomness only",
    sign: (name, f) => () => made.get(name).sign(f.message, f.sk),
    verify: (name, f) => () => made.get(name).verify(f.message, f.signature, f.pk),
  };
  return [variant];
}

// V8 compiles what runs often anew, while it runs; OpenSSL's code it does not.
const WARMUP = 500_000_000;

// The thread's own time in nanoseconds. process.threadCpuUsage counts in steps of the kernel's timer,
// which may be 4 ms; the system interface of WebAssembly has the clock itself. The module is an empty
// one with a page of memory, into which the clock is read.
const threadTime = (() => {
  const THREAD_CPUTIME_ID = 3;
  const module = Buffer.from("0061736d010000000503010001070a01066d656d6f72790200", "hex");
  const instance = new WebAssembly.Instance(new WebAssembly.Module(module));
  const wasi = new WASI({ version: "preview1" });
  wasi.initialize(instance);
  const read = wasi.wasiImport.clock_time_get;
  const time = new BigUint64Array(instance.exports.memory.buffer, 0, 1);
  return () => {
    if (read(THREAD_CPUTIME_ID, 1n, 0) !== 0) throw Error("the thread's clock cannot be read");
    return time[0];
  };
})();

function versionOf(name) {
  const path = join(import.meta.dirname, "node_modules", name, "package.json");
  return JSON.parse(readFileSync(path, "utf8")).version;
}

async function variants() {
  const found = new Map();
  for (const load of [nodeCrypto, noble, liboqs]) {
    try {
      for (const told of await load()) {
        const variant = {
          family: "ml-dsa",
          sets: SETS,
          operations: "keygen sign verify",
          key: "compact",
          ...told,
        };
        found.set(`${variant.implementation}:${variant.backend}:${variant.key}`, variant);
      }
    } catch (error) {
      if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
      console.error(`left out: ${error.message}`);
    }
  }
  return found;
}

// A request that is none; any other error is the worker's own and ends it.
class Refusal extends Error {}

function refuseUnless(holds, text) {
  if (!holds) throw new Refusal(text);
}

function number(text) {
  refuseUnless(/^[0-9]{1,20}$/.test(text) && BigInt(text) < 1n << 64n, "a number is malformed");
  return BigInt(text);
}

const said = (error) => String(error?.message ?? error).replace(/\s+/g, " ") || "no reason given";

// The operation of an input, made ready; one that cannot be is a function that says why.
function ready(variant, name, operation, fields) {
  try {
    if ((operation === "sign" || operation === "decaps") && !(variant.private_keys in fields)) {
      throw Error(`it reads private keys as ${variant.private_keys} alone`);
    }
    if (variant.context === "no" && fields.context?.length) throw Error("the context must be empty");
    return variant[operation](name, fields);
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

// Wall and CPU ticks of so many calls, and the last one's outputs.
function timed(item, calls) {
  const call = item.call;
  let output, failure;
  const cpu = threadTime();
  const wall = process.hrtime.bigint();
  for (let i = 0; i < calls; i++) {
    try {
      output = call();
      failure = undefined;
    } catch (error) {
      failure = { error };
    }
  }
  const spent = process.hrtime.bigint() - wall;
  const ticks = [spent, threadTime() - cpu];
  if (item.operation === "verify") {
    return [ticks, [Uint8Array.of(!failure && output === true ? 1 : 0)]];
  }
  if (failure) throw failure.error;
  if (item.operation === "keygen") return [ticks, [output[0], output[1] ?? ""]];
  return [ticks, [item.operation === "encaps" ? Buffer.concat(output) : output]];
}

const hexadecimal = (bytes) => Buffer.from(bytes).toString("hex") || "-";

class Worker {
  jobs = new Map(); // by number: the inputs made ready

  constructor(found) {
    this.variants = found;
  }

  hello(version) {
    refuseUnless(version === 1n, "this worker speaks version 1 of the protocol");
    const text = [
      "worker node",
      "protocol 1",
      "language JavaScript",
      `compiler Node ${process.versions.node}, V8 ${process.versions.v8}`,
      ...(process.execArgv.length || process.env.NODE_OPTIONS
        ? [`flags ${[...process.execArgv, process.env.NODE_OPTIONS ?? ""].join(" ").trim()}`]
        : []),
      "unit ns",
      "clock process.hrtime",
      "cpu_clock THREAD_CPUTIME_ID by node:wasi",
    ];
    for (const [id, v] of this.variants) {
      text.push(`variant ${id}`);
      for (const key of ["implementation", "version", "backend", "key"]) text.push(`${key} ${v[key]}`);
      if (v.language !== "JavaScript") text.push(`language ${v.language}`);
      text.push(`family ${v.family}`, `sets ${v.sets.join(" ")}`);
      const keys = ["operations", "rnd", "context", "private_keys", "warmup", "note"];
      for (const key of keys) text.push(`${key} ${v[key]}`);
    }
    return [...text, "end"];
  }

  prepare(job, lines) {
    const head = lines.slice(0, 3).map((line) => line.split(" "));
    const keys = head.map(([key]) => key).join(" ");
    refuseUnless(
      keys === "variant set operation" && head.every((parts) => parts.length === 2),
      "variant, set and operation come first",
    );
    const [id, name, operation] = head.map(([, value]) => value);
    const variant = this.variants.get(id);
    refuseUnless(
      variant && variant.sets.includes(name) && variant.operations.split(" ").includes(operation),
      "no such variant, set or operation",
    );
    const required = [...FIELDS[operation][0]];
    if (operation === "sign" || operation === "encaps") {
      if (variant.rnd !== "none") required.push("rnd");
    }
    const known = new Set([...required, ...FIELDS[operation][1]]);
    const inputs = new Map();
    let fields;
    for (const line of lines.slice(3)) {
      const [key, value, ...more] = line.split(" ");
      refuseUnless(value !== undefined && !more.length, "a line is not a key and its value");
      if (key === "input") {
        const given = number(value);
        refuseUnless(!inputs.has(given), "an input is given twice");
        inputs.set(given, (fields = {}));
        continue;
      }
      refuseUnless(fields && known.has(key) && !(key in fields), "a field is unknown or given twice");
      refuseUnless(/^(-|([0-9a-f]{2})+)$/.test(value), `the field ${key} is not hexadecimal`);
      fields[key] = new Uint8Array(Buffer.from(value === "-" ? "" : value, "hex"));
    }
    const made = [];
    for (const [input, given] of inputs) {
      refuseUnless(required.every((key) => key in given), "a field is missing");
      made.push({ input, operation, call: ready(variant, name, operation, given) });
    }
    this.jobs.set(job, made);
    return [`ready ${job}`];
  }

  job(given) {
    refuseUnless(this.jobs.has(given), "no such job");
    return this.jobs.get(given);
  }

  answer(job) {
    const text = this.job(job).map((item) => {
      try {
        return `output ${item.input} ${timed(item, 1)[1].map(hexadecimal).join(" ")}`;
      } catch (error) {
        return `failed ${item.input} ${said(error)}`;
      }
    });
    return [...text, `done ${job}`];
  }

  measure(job, passes, calls, warmup) {
    refuseUnless(calls > 0n, "CALLS is 0");
    const items = this.job(job);
    const end = process.hrtime.bigint() + warmup;
    for (let at = 0; items.length; at++) {
      try {
        timed(items[at % items.length], 1);
      } catch {
        // skipped
      }
      if (process.hrtime.bigint() >= end) break;
    }
    const text = [];
    for (let pass = 0n; pass < passes; pass++) {
      for (const item of items) {
        try {
          const [ticks, outputs] = timed(item, Number(calls));
          const digest = crypto.createHash("sha256").update(outputs[0]).digest("hex");
          text.push(`sample ${item.input} ${ticks.join(" ")} ${calls} ${digest}`);
        } catch (error) {
          text.push(`failed ${item.input} ${said(error)}`);
        }
      }
    }
    return [...text, `done ${job}`];
  }

  forget(job) {
    this.job(job);
    this.jobs.delete(job);
    return [`done ${job}`];
  }

  // The lines that answer a request; `lines` are those between `prepare` and `end`.
  reply(line, lines) {
    const [word, ...rest] = line.split(" ");
    const wanted = { hello: 1, prepare: 1, answer: 1, measure: 4, forget: 1 };
    refuseUnless(Object.hasOwn(wanted, word) && rest.length === wanted[word], "no such request");
    return this[word](...rest.map(number), lines);
  }
}

async function* input() {
  let held = "";
  for await (const chunk of process.stdin.setEncoding("latin1")) {
    const lines = chunk.split("\n");
    lines[0] = held + lines[0];
    held = lines.pop();
    yield* lines;
  }
}

const worker = new Worker(await variants());
let request; // a `prepare` whose lines are being read
let lines = [];
for await (const line of input()) {
  if (request !== undefined && line !== "end") {
    lines.push(line);
    continue;
  }
  if (request === undefined && line === "quit") break;
  if (request === undefined && line.split(" ")[0] === "prepare") {
    request = line;
    continue;
  }
  let text;
  try {
    text = worker.reply(request ?? line, lines);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    text = [`error ${error.message}`];
  }
  request = undefined;
  lines = [];
  process.stdout.write(text.join("\n") + "\n");
}
