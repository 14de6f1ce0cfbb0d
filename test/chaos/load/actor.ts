import type { Random } from '../../bench/random.ts';
import type { Client } from '../client.ts';
import type { Memory } from '../memory.ts';
import type { Receiver } from '../receiver.ts';
import type { StandIn } from '../stand-in.ts';

/** What an actor needs to put an account under load. */
export interface Actor {
  memory: Memory;
  random: Random;
  receiver: Receiver;
  standIn: StandIn;
  operator: Client;
  clientOf: (credential: string) => Client;
}
