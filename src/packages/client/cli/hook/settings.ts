import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline/promises';
import {
  applyEdits,
  type FormattingOptions,
  type JSONPath,
  modify,
  type ParseError,
  parse,
} from 'jsonc-parser';
import { isObject, type JsonObject } from '../../json.ts';
import { Failure, systemCode } from '../failures.ts';
import { write } from '../io.ts';
import type { Session } from '../session.ts';
import { escapeText } from '../terminal/escape.ts';

/** The settings file of a tool, as text: comments and whatever else is in it stay. */
export class Settings {
  readonly file: string;
  readonly #before: string;
  #text: string;

  /** @throws Failure for a file that cannot be read or parsed */
  constructor(file: string) {
    this.file = file;
    this.#before = readText(file);
    this.#text = this.#before || '{}\n';
    if (!isObject(this.#parse())) throw new Failure(`${file} is not a JSON object.`);
  }

  get value(): JsonObject {
    return this.#parse() as JsonObject;
  }

  /** Sets a member; undefined takes it out. An index behind the end of a list appends. */
  set(path: JSONPath, value: unknown): void {
    const isInsertion = typeof path.at(-1) === 'number' && value !== undefined;
    this.#text = applyEdits(
      this.#text,
      modify(this.#text, path, value, {
        formattingOptions: formattingOf(this.#text),
        isArrayInsertion: isInsertion,
      }),
    );
    this.#parse();
  }

  /** Shows what changes, and writes it once the person agrees. Returns whether it was written. */
  async write(session: Session, isAgreed: boolean): Promise<boolean> {
    const { io } = session;
    if (this.#text === this.#before) {
      await write(io.stderr, `${this.file} stays as it is.\n`);
      return false;
    }
    await write(
      io.stdout,
      `${[this.file, ...differenceOf(this.#before, this.#text)].join('\n')}\n`,
    );
    if (!isAgreed && !(await agrees(session))) throw new Failure('Nothing was written.');
    replaceFile(this.file, this.#text);
    return true;
  }

  #parse(): unknown {
    const errors: ParseError[] = [];
    const value: unknown = parse(this.#text, errors, { allowTrailingComma: true });
    if (errors.length > 0)
      throw new Failure(`${this.file} is not JSON that can be changed safely. Correct it first.`);
    return value;
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return '';
    throw new Failure(`${file} cannot be read (${systemCode(error)}).`);
  }
}

function formattingOf(text: string): FormattingOptions {
  const [, indent = '  '] = /\n([ \t]+)"/.exec(text) ?? [];
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  return { insertSpaces: !indent.startsWith('\t'), tabSize: indent.length, eol };
}

/** The lines that go (`-`) and that come (`+`). */
function differenceOf(before: string, after: string): string[] {
  const old = before === '' ? [] : before.split('\n');
  const lines = after.split('\n');
  let start = 0;
  while (start < Math.min(old.length, lines.length) && old[start] === lines[start]) start++;
  let end = 0;
  const most = Math.min(old.length, lines.length) - start;
  while (end < most && old.at(-1 - end) === lines.at(-1 - end)) end++;
  const shown = (sign: string, part: string[]) => part.map((line) => `${sign} ${escapeText(line)}`);
  return [
    ...shown('-', old.slice(start, old.length - end)),
    ...shown('+', lines.slice(start, lines.length - end)),
  ];
}

async function agrees({ io }: Session): Promise<boolean> {
  if (!io.stdin.isTTY) throw new Failure('Nothing was written. To write it, add --yes.');
  const questions = createInterface({ input: io.stdin, output: io.stderr });
  const answer = await questions.question('Write this? [y/N] ');
  questions.close();
  return /^y(es)?$/i.test(answer.trim());
}

/** A crash leaves the old file or the new one. A link stays a link. */
function replaceFile(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  const target = readText(file) === '' ? file : realpathSync(file);
  const draft = `${target}.${randomUUID()}`;
  try {
    writeFileSync(draft, text, { flag: 'wx', flush: true });
    renameSync(draft, target);
  } finally {
    rmSync(draft, { force: true });
  }
}
