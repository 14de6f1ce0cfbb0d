import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../bench/random.ts';
import type { Client } from '../client.ts';
import type { SignOn } from '../sign-on.ts';

/** The longest pauses between two sign-ins and between two key rotations, in milliseconds. */
const [LONGEST_PAUSE, LONGEST_KEY] = [800, 30_000];

/** Somebody who signs in with the identity provider. */
export interface Person {
  name: string;
  client: Client;
  /** Every account id that the service showed this person. */
  accounts: Set<string>;
}

/** Everybody who signed in or tried to. */
export class People {
  readonly all: Person[] = [];
  private readonly clientOf: (credential: () => Promise<string>) => Client;
  private readonly signOn: SignOn;

  constructor(signOn: SignOn, clientOf: (credential: () => Promise<string>) => Client) {
    this.signOn = signOn;
    this.clientOf = clientOf;
  }

  /** Adds a person whom the service has never seen. */
  newcomer(): Person {
    const number = this.all.length;
    const client = this.clientOf(() => this.signOn.tokenOf(number));
    const person = { name: `person ${number}`, client, accounts: new Set<string>() };
    this.all.push(person);
    return person;
  }

  /** Signs a person in, and repeats it until an answer comes; returns its status. */
  async enter(person: Person): Promise<number | undefined> {
    const outcome = await person.client.repeat<{ id: string }>('GET', '/v1/me');
    if (outcome?.status === 200) person.accounts.add(outcome.body.id);
    return outcome?.status;
  }

  /** Signs in new and known people until the signal, each with two concurrent requests. */
  async come(random: Random, signal: AbortSignal): Promise<void> {
    for (; !signal.aborted; await sleep(random.below(LONGEST_PAUSE))) {
      const person = random.chance(0.6) ? this.newcomer() : random.pick(this.all);
      await Promise.all([this.enterOnce(person), this.enterOnce(person)]);
    }
  }

  /** Rotates the provider's keys until the signal. */
  async changeKeys(random: Random, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(random.below(LONGEST_KEY), undefined, { signal }).catch(() => undefined);
      await this.signOn.rotate();
    }
  }

  private async enterOnce(person: Person): Promise<void> {
    const outcome = await person.client.ask<{ id: string }>('GET', '/v1/me');
    if (outcome?.status === 200) person.accounts.add(outcome.body.id);
  }
}
