// Photos that are still to be sent, and removals of photos that the service may have. They are kept in the browser
// until the service has answered, so that neither a lost connection nor a closed page loses one.

const firstWait = 1000;
const longestWait = 30000;
const longestOpening = 5000;
const over = [404, 410]; // of a link
const refusals = [400, 409]; // of a photo for what it is, or for its place

export class Outbox {
  #path;
  #db = openDatabase();
  #waiting = new Map();
  #kept = Promise.resolve(); // all that waits
  #running = false;
  #pause = "offline"; // why the last one has to wait
  #told;
  #wake = () => {};

  /** told(id, state, code) hears of each photo: waiting, sending, sent, offline, busy, failed or removed. The code says
   * why one has failed. */
  constructor(path, told) {
    this.#path = path;
    this.#told = told;
    addEventListener("online", () => this.#wake());
  }

  get size() {
    return this.#waiting.size;
  }

  /** Returns what an earlier visit has left: photos, and removals of some. */
  async open() {
    for (const photo of await this.#stored()) {
      if (!this.#waiting.has(photo.id)) this.#waiting.set(photo.id, photo);
    }
    this.#run();
    return [...this.#waiting.values()];
  }

  add(photo) {
    this.#keep(photo);
    this.#told(photo.id, "waiting");
    this.#run();
  }

  /** Removes a photo. The service may have it even if that was never told, so it is asked in every case: in the place
   * of the photo, and before what is added later. */
  remove(id) {
    this.#keep({ id, removed: true });
    this.#wake();
    this.#run();
  }

  #keep(photo) {
    const entry = { ...photo, path: this.#path };
    this.#waiting.set(photo.id, entry);
    this.#kept = Promise.all([this.#kept, this.#store((photos) => photos.put(entry))]);
  }

  async #run() {
    if (this.#running) return;
    this.#running = true;
    let wait = firstWait;
    while (this.#waiting.size > 0) {
      await this.#kept; // nothing is sent that a closed page would lose
      const entry = this.#waiting.values().next().value;
      if (!entry.removed) this.#told(entry.id, "sending");
      const pause = await this.#send(entry);
      if (pause === undefined || this.#waiting.get(entry.id) !== entry) { // done with, or removed in the meantime
        wait = firstWait;
        continue;
      }
      this.#told(entry.id, this.#pause);
      await this.#sleep(Math.max(pause, wait));
      wait = Math.min(2 * wait, longestWait);
    }
    this.#running = false;
  }

  /** Sends a photo, or its removal. Returns how long to wait at least before it is sent again, nothing if it is done
   * with. */
  async #send(entry) {
    const address = `${this.#path}/photos/${entry.id}`;
    let answer;
    this.#pause = "offline";
    try {
      answer = entry.removed
        ? await fetch(address, { method: "DELETE" })
        : await fetch(`${address}?index=${encodeURIComponent(entry.index)}`, { method: "PUT", body: entry.blob });
    } catch {
      return 0;
    }
    if (taken(answer)) {
      await this.#done(entry, entry.removed ? "removed" : "sent");
    } else if (ours(answer) && over.includes(answer.status)) {
      await this.#forget(entry.id);
      location.reload();
    } else if (!entry.removed && refused(answer)) {
      await this.#done(entry, "failed", ours(answer) ? (await refusalOf(answer)).code : "FILE_TOO_LARGE");
    } else {
      if (answer.status === 429) this.#pause = "busy";
      return 1000 * (Number(answer.headers.get("Retry-After")) || 0);
    }
    return undefined;
  }

  async #done(entry, state, code) {
    if (this.#waiting.get(entry.id) !== entry) return; // the removal is still to be sent
    await this.#forget(entry.id);
    this.#told(entry.id, state, code);
  }

  async #forget(id) {
    this.#waiting.delete(id);
    await this.#store((photos) => photos.delete(id));
  }

  #sleep(milliseconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async #stored() {
    const db = await this.#db;
    if (!db) return [];
    const photos = await done(db.transaction("photos").objectStore("photos").getAll());
    return photos.filter((photo) => photo.path === this.#path);
  }

  async #store(change) {
    const db = await this.#db;
    if (!db) return;
    try {
      const transaction = db.transaction("photos", "readwrite");
      change(transaction.objectStore("photos"));
      await ended(transaction); // before that a closed page takes it back
    } catch {
      // The disk is full or private: the photo is sent as long as the page is open.
    }
  }
}

/** Tells whether the service has done what was asked for: a page that something on the way shows instead is a success to
 * the browser. */
export function taken(answer) {
  return answer.status === 204 && !answer.redirected;
}

/** Returns the refusal that an answer of the service has: its code and its details. */
export async function refusalOf(answer) {
  try {
    return await answer.json();
  } catch {
    return {};
  }
}

/** Tells whether it is the photo that is refused, by the service or for its size: not its way there. */
function refused(answer) {
  return (ours(answer) && refusals.includes(answer.status)) || answer.status === 413;
}

/** Tells whether an answer is one of the service, not of something on the way to it. */
function ours(answer) {
  return answer.headers.get("Content-Type")?.startsWith("application/json");
}

/** Returns nothing where the browser keeps nothing, or does not say in time: photos wait for it. */
async function openDatabase() {
  try {
    const request = indexedDB.open("assay-capture", 1);
    request.addEventListener("upgradeneeded", () => request.result.createObjectStore("photos", { keyPath: "id" }));
    return await Promise.race([done(request), new Promise((resolve) => setTimeout(resolve, longestOpening))]);
  } catch {
    return undefined;
  }
}

function ended(transaction) {
  return new Promise((resolve, reject) => {
    transaction.addEventListener("complete", () => resolve());
    transaction.addEventListener("abort", () => reject(transaction.error));
  });
}

function done(request) {
  return new Promise((resolve, reject) => {
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(request.error));
  });
}
