import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../bench/random.ts';
import type { Client } from '../client.ts';
import type { SignOn } from '../sign-on.ts';

/** Between two that come, and between two changes of the keys, at most; in milliseconds. */
const [LONGEST_PAUSE, LONGEST_KEY] = [800, 30_000];

/** Somebody who signs in with the identity provider. */
export interface Person {
  name: string;
  client: Client;
  /** The accounts that they were ever shown as theirs. */
  accounts: Set<string>;
}

/** Everybody who ever signed in, or tried to. */
export class People {
  readonly all: Person[] = [];
  private readonly clientOf: (credential: () => Promise<string>) => Client;
  private readonly signOn: SignOn;

  constructor(signOn: SignOn, clientOf: (credential: () => Promise<string>) => Client) {
    this.signOn = signOn;
    this.clientOf = clientOf;
  }

  /** Somebody whom the service has never seen. */
  newcomer(): Person {
    const number = this.all.length;
    const client = this.clientOf(() => this.signOn.tokenOf(number));
    const person = { name: `person ${number}`, client, accounts: new Set<string>() };
    this.all.push(person);
    return person;
  }

  /** Signs somebody in until an answer comes. */
  async enter(person: Person): Promise<number | undefined> {
    const outcome = await person.client.repeat<{ id: string }>('GET', '/v1/me');
    if (outcome?.status === 200) person.accounts.add(outcome.body.id);
    return outcome?.status;
  }

  /** New people come, each from two places at once, and some who were here before. */
  async come(random: Random, signal: AbortSignal): Promise<void> {
    for (; !signal.aborted; await sleep(random.below(LONGEST_PAUSE))) {
      const person = random.chance(0.6) ? this.newcomer() : random.pick(this.all);
      await Promise.all([this.enterOnce(person), this.enterOnce(person)]);
    }
  }

  /** The provider changes its keys again and again. */
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
