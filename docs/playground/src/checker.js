// The checker in its worker: sends programs to it, and hands its answers on.

const PATIENCE = 60_000;

export class Checker {
  #worker;
  #listener;
  #timer;
  #number = 0;
  #ready = false;

  // `listener` has the methods ready, findings, dims and failed.
  constructor(listener) {
    this.#listener = listener;
    this.#start();
  }

  #start() {
    this.#ready = false;
    this.#worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    this.#worker.onmessage = ({ data }) => this.#receive(data);
    this.#worker.onerror = (event) => this.#listener.failed(event.message ?? "the worker ended");
  }

  check(program, evidence, semantics) {
    this.#number += 1;
    this.#worker.postMessage({ number: this.#number, program, evidence, semantics });
    if (this.#ready) this.#wait();
  }

  #wait() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#worker.terminate();
      this.#start();
      this.#listener.failed("this program takes longer than a minute");
    }, PATIENCE);
  }

  #receive(answer) {
    if (answer.kind === "ready") {
      this.#ready = true;
      this.#listener.ready();
    } else if (answer.kind === "failed") {
      clearTimeout(this.#timer);
      this.#listener.failed(answer.message);
    } else if (answer.number === this.#number) {
      clearTimeout(this.#timer);
      this.#listener[answer.kind](answer);
    }
  }
}
