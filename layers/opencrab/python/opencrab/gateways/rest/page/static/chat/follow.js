/** Follow a session's events for as long as wanted, over lost connections, from the last line seen. */

const RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 15_000;

export class Follower {
  /**
   * `onConnected(isConnected)` says how it goes; `onRefused(error)` that it ended for good.
   * @param {Page.Api} api
   */
  constructor(api, path, conversation, { onConnected, onRefused }) {
    this.api = api;
    this.path = path;
    this.conversation = conversation;
    this.onConnected = onConnected;
    this.onRefused = onRefused;
    this.stopping = new AbortController();
    this.retryMs = RETRY_MS;
    this.wake = () => {};
    this.#follow();
  }

  stop() {
    this.stopping.abort();
    this.conversation.dropUnfinished();
  }

  async #follow() {
    const { signal } = this.stopping;
    let wait = this.retryMs;
    while (!signal.aborted) {
      try {
        await this.#readStream(signal);
        wait = this.retryMs;
      } catch (/** @type {any} */ error) {
        if (signal.aborted) return;
        if (error.status && error.status < 500 && error.status !== 429) {
          this.onRefused(error);
          return;
        }
        this.onConnected(false);
        wait = Math.min(wait * 2, LONGEST_RETRY_MS);
      }
      if (signal.aborted) return;
      this.conversation.dropUnfinished();
      await this.#sleep(wait);
    }
  }

  /** Wait for the next attempt; `wake()` ends it, for news that the page itself caused. */
  #sleep(milliseconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.wake = () => {
        clearTimeout(timer);
        resolve(undefined);
      };
    });
  }

  async #readStream(signal) {
    const { conversation } = this;
    const retry = (/** @type {number} */ milliseconds) => (this.retryMs = Math.min(milliseconds, LONGEST_RETRY_MS));
    for await (const event of this.api.events(this.path, conversation.lastSequence, signal, retry)) {
      if (signal.aborted) return;
      this.onConnected(true);
      const data = JSON.parse(event.data ?? "null");
      if (event.event === "problem") throw this.api.problemOf(data);
      conversation.apply(data, event.id);
    }
    this.onConnected(true);
  }
}
