/** How far a delivery is: nobody works on it, somebody does, or it is processed. */
export type DeliveryState = "new" | "running" | "done";

/**
 * Remembers deliveries, so that each is processed once. Keep it in your database when the receiver restarts or runs on
 * several machines.
 */
export interface DeliveryLog {
  /**
   * Returns the state of the delivery, and makes a new one running for lease milliseconds, in one step: of two that ask
   * at the same time, one gets "new". When the lease has ended without done or undo, whoever had the delivery has
   * crashed, and it is new again.
   */
  begin(deliveryId: string, lease: number): DeliveryState | Promise<DeliveryState>;
  /** The delivery is processed, for good. */
  done(deliveryId: string): void | Promise<void>;
  /** The delivery could not be processed and will come again: it is new, unless it is done. */
  undo(deliveryId: string): void | Promise<void>;
}

/** A DeliveryLog of one process that keeps the newest ids. */
export class MemoryDeliveryLog implements DeliveryLog {
  readonly #running = new Map<string, number>(); // until when
  readonly #done = new Set<string>();
  constructor(
    readonly size = 10_000,
    private readonly now: () => number = Date.now,
  ) {}

  begin(deliveryId: string, lease: number): DeliveryState {
    if (this.#done.has(deliveryId)) return "done";
    const now = this.now();
    if ((this.#running.get(deliveryId) ?? now) > now) return "running";
    this.#running.set(deliveryId, now + lease);
    return "new";
  }

  done(deliveryId: string): void {
    this.#running.delete(deliveryId);
    this.#done.add(deliveryId);
    if (this.#done.size > this.size) this.#done.delete(this.#done.values().next().value as string);
  }

  undo(deliveryId: string): void {
    this.#running.delete(deliveryId);
  }
}
