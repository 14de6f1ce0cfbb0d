/** A text that must not be found anywhere, in every form in which it could be kept. */
export class MarkedSecret {
  readonly forms: readonly string[];

  constructor(readonly text: string) {
    const bytes = Buffer.from(text);
    this.forms = [
      text,
      // A part is enough for somebody who guesses the rest.
      text.slice(0, text.length / 2),
      text.slice(text.length / 2),
      text.toUpperCase(),
      [...text].reverse().join(''),
      encodeURIComponent(text),
      JSON.stringify(text).slice(1, -1),
      bytes.toString('hex'),
      bytes.toString('hex').toUpperCase(),
      ...[0, 1, 2].flatMap((offset) => base64Forms(bytes, offset)),
    ];
  }

  /** The form in which bytes or a text hold the secret; null if they do not. */
  findIn(content: Uint8Array | string): string | null {
    const text = typeof content === 'string' ? content : latin1(content);
    return this.forms.find((form) => text.includes(form)) ?? null;
  }
}

/** The base64 of bytes that stand behind some others, without the characters that those change. */
function base64Forms(bytes: Uint8Array, offset: number): string[] {
  const text = Buffer.from([...new Uint8Array(offset), ...bytes]).toString('base64');
  const whole = text.slice(offset === 0 ? 0 : 4, -4);
  return [whole, whole.replaceAll('+', '-').replaceAll('/', '_')];
}

function latin1(bytes: Uint8Array): string {
  return new TextDecoder('latin1').decode(bytes);
}

/** Finds the rows of a database that hold a secret, as a text, as bytes or in another form. */
export async function findInDatabase(
  database: D1Database,
  secret: MarkedSecret,
): Promise<string[]> {
  const { results: tables } = await database
    .prepare(
      `select name from sqlite_schema where type = 'table' and name not like '\\_cf%' escape '\\'`,
    )
    .all<{ name: string }>();
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = await database.prepare(`select * from ${name}`).raw();
    for (const value of rows.flat()) {
      const content = Array.isArray(value) ? Uint8Array.from(value) : String(value);
      const form = secret.findIn(content);
      if (form !== null) found.push(`${name}: ${form}`);
    }
  }
  return found;
}

/** Finds the objects of a bucket that hold a secret. */
export async function findInBucket(bucket: R2Bucket, secret: MarkedSecret): Promise<string[]> {
  const found: string[] = [];
  for (let cursor: string | undefined, isMore = true; isMore; ) {
    const page = await bucket.list({ ...(cursor !== undefined && { cursor }) });
    for (const { key } of page.objects) {
      const bytes = new Uint8Array((await (await bucket.get(key))?.arrayBuffer()) ?? []);
      const form = secret.findIn(key) ?? secret.findIn(bytes);
      if (form !== null) found.push(`${key}: ${form}`);
    }
    isMore = page.truncated;
    cursor = page.truncated ? page.cursor : undefined;
  }
  return found;
}
