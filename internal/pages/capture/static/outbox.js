// Photos that are still to be sent. They are kept in the browser until the service has them, so that neither a lost
// connection nor a closed page loses one.

const firstWait = 1000;
const longestWait = 30000;

export class Outbox {
  #path;
  #db;
  #waiting = new Map();
  #running = false;
  #told;
  #wake = () => {};

  /** told(id, state) hears of each photo: waiting, sending, sent, offline or failed. */
  constructor(path, told) {
    this.#path = path;
    this.#told = told;
    addEventListener("online", () => this.#wake());
  }

  get size() {
    return this.#waiting.size;
  }

  /** Returns what an earlier visit has left. */
  async open() {
    this.#db = await openDatabase();
    for (const photo of await this.#stored()) this.#waiting.set(photo.id, photo);
    this.#run();
    return [...this.#waiting.values()];
  }

  async add(photo) {
    const entry = { ...photo, path: this.#path };
    this.#waiting.set(photo.id, entry);
    await this.#store((photos) => photos.put(entry));
    this.#told(photo.id, "waiting");
    this.#run();
  }

  async remove(id) {
    this.#waiting.delete(id);
    await this.#store((photos) => photos.delete(id));
  }

  async #run() {
    if (this.#running) return;
    this.#running = true;
    let wait = firstWait;
    while (this.#waiting.size > 0) {
      const photo = this.#waiting.values().next().value;
      this.#told(photo.id, "sending");
      const pause = await this.#send(photo);
      if (pause === undefined) {
        wait = firstWait;
        continue;
      }
      this.#told(photo.id, "offline");
      await this.#sleep(Math.max(pause, wait));
      wait = Math.min(2 * wait, longestWait);
    }
    this.#running = false;
  }

  /** Returns how long to wait at least before the photo is sent again, nothing if it is done with. */
  async #send(photo) {
    let answer;
    try {
      answer = await fetch(`${this.#path}/photos/${photo.id}?index=${encodeURIComponent(photo.index)}`, {
        method: "PUT",
        body: photo.blob,
      });
    } catch {
      return 0;
    }
    if (answer.status === 429 || answer.status >= 500) return 1000 * Number(answer.headers.get("Retry-After") ?? 0);
    const here = this.#waiting.has(photo.id);
    await this.remove(photo.id);
    if (answer.ok) {
      if (here) this.#told(photo.id, "sent");
      else fetch(`${this.#path}/photos/${photo.id}`, { method: "DELETE" }).catch(() => {});
    } else if (answer.status === 410 || answer.status === 404) {
      location.reload();
    } else {
      this.#told(photo.id, "failed");
    }
    return undefined;
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
    if (!this.#db) return [];
    const photos = await done(this.#db.transaction("photos").objectStore("photos").getAll());
    return photos.filter((photo) => photo.path === this.#path);
  }

  async #store(change) {
    if (!this.#db) return;
    try {
      await done(change(this.#db.transaction("photos", "readwrite").objectStore("photos")));
    } catch {
      // The disk is full or private: the photo is sent as long as the page is open.
    }
  }
}

/** Returns nothing where the browser keeps nothing. */
async function openDatabase() {
  try {
    const request = indexedDB.open("assay-capture", 1);
    request.addEventListener("upgradeneeded", () => request.result.createObjectStore("photos", { keyPath: "id" }));
    return await done(request);
  } catch {
    return undefined;
  }
}

function done(request) {
  return new Promise((resolve, reject) => {
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(request.error));
  });
}
