import { eq, sql } from 'drizzle-orm';
import type { Cost, Database } from '../../db/database';
import { sendCounts } from '../../db/schema';
import { listShards, openShard } from '../../db/shards';
import type { Env, Runtime } from '../../env';
import { SERVICE_AUTHORITY } from '../../ledger/authority';
import { Ledger } from '../../ledger/ledger';
import { toBase64Url } from '../../lib/bytes';
import { emailAddressKey } from '../../lib/email-address';
import { logFailure } from '../../lib/log';
import type { Keyring } from '../../lib/secrets';
import { DAY, MINUTE } from '../../lib/time';

/** How many mails an address gets within a minute, from the channels of all accounts. */
const MAILS_PER_MINUTE = 5;

/** How many messages an account posts to one Slack channel within a minute. */
const POSTS_PER_MINUTE = 20;

interface Context {
  env: Env;
  /** Counts what the databases are used for. */
  cost: Cost;
  keyring: Keyring;
  runtime: Pick<Runtime, 'now'>;
}

/**
 * Limits what is sent to one address or Slack channel.
 *
 * Counts are on the shard that the recipient's hash names, so that they hold over all accounts.
 * They are approximate: a message counts when it is about to be sent, and each attempt to send it
 * counts.
 */
export class SendLimits {
  /** Recipients who get nothing more in this minute, and until when. */
  private readonly waiting = new Map<string, number>();

  constructor(private readonly context: Context) {}

  /**
   * Counts a mail to an address. Returns null if it may be sent, else until when it has to wait.
   */
  countMail(address: string): Promise<number | null> {
    return this.countInMinute(['mail', emailAddressKey(address)], MAILS_PER_MINUTE);
  }

  /**
   * Counts a message to a Slack channel. Returns as {@link countMail}. Each account has its own
   * count: others may name the same Slack channel, although they cannot post there.
   */
  countPost(
    account: { shard: string; number: number },
    slackChannel: string,
  ): Promise<number | null> {
    return this.countInMinute(
      ['slack', account.shard, `${account.number}`, slackChannel],
      POSTS_PER_MINUTE,
    );
  }

  /**
   * Counts a confirmation mail to an address.
   * @returns null if it may be sent, else when the next one may be
   */
  async countConfirmation(address: string): Promise<number | null> {
    const { key, database } = await this.place(confirmationOf(address));
    const { count, since } = await this.count(database, key, this.context.runtime.now() - DAY);
    return count > 1 ? since + DAY : null;
  }

  /** Takes back that a confirmation mail was counted, because it could not be sent. */
  async uncountConfirmation(address: string): Promise<void> {
    const { key, database } = await this.place(confirmationOf(address));
    await new Ledger(database, SERVICE_AUTHORITY).write({
      changes: (write) => [write.delete(sendCounts).where(eq(sendCounts.key, key))],
    });
  }

  /** A database that fails lets the message pass: those of other shards must not wait for it. */
  private async countInMinute(recipient: string[], maximum: number): Promise<number | null> {
    const now = this.context.runtime.now();
    const minuteStart = now - (now % MINUTE);
    const { key, database } = await this.place(recipient);
    const name = toBase64Url(key);
    const until = this.waiting.get(name);
    if (until !== undefined && until > now) return until;
    try {
      const { count } = await this.count(database, key, minuteStart - 1);
      if (count <= maximum) return null;
    } catch (error) {
      logFailure('send_count_failed', error);
      return null;
    }
    this.waiting.set(name, minuteStart + MINUTE);
    return minuteStart + MINUTE;
  }

  /** Where the count of a recipient is. */
  private async place(recipient: string[]): Promise<{ key: Uint8Array; database: Database }> {
    const { env, cost, keyring } = this.context;
    const [key] = await keyring.mac('send-count', JSON.stringify(recipient));
    const shards = listShards(env);
    const [high = 0, low = 0] = key;
    const database = openShard(env, shards[(high * 256 + low) % shards.length] ?? shards[0], cost);
    if (!database) throw new Error('a listed shard is not bound');
    return { key, database };
  }

  /**
   * Adds one to a count.
   * @param endedAt a period that began at this time or earlier is over: a new one begins
   */
  private async count(
    database: Database,
    key: Uint8Array,
    endedAt: number,
  ): Promise<{ count: number; since: number }> {
    const row = { since: this.context.runtime.now(), count: 1 };
    const isOver = sql`${sendCounts.since} <= ${endedAt}`;
    const [[counted = row]] = await new Ledger(database, SERVICE_AUTHORITY).write({
      changes: (write) => [
        write
          .insert(sendCounts)
          .values({ key, ...row })
          .onConflictDoUpdate({
            target: sendCounts.key,
            set: {
              since: sql`iif(${isOver}, ${row.since}, ${sendCounts.since})`,
              count: sql`iif(${isOver}, 1, ${sendCounts.count} + 1)`,
            },
          })
          .returning({ count: sendCounts.count, since: sendCounts.since }),
      ],
    });
    return counted;
  }
}

function confirmationOf(address: string): string[] {
  return ['confirmation', emailAddressKey(address)];
}
