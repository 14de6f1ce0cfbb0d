import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline/promises';
import {
  applyEdits,
  findNodeAtLocation,
  type JSONPath,
  modify,
  type ParseError,
  parse,
  parseTree,
  stripComments,
  visit,
} from 'jsonc-parser';
import { isObject, type JsonObject } from '../../json.ts';
import { Failure, systemCode } from '../failures.ts';
import { write } from '../io.ts';
import type { Session } from '../session.ts';
import { escapeText } from '../terminal/escape.ts';

/** The deviations from JSON that the tools' own parsers accept. */
const OPTIONS = { allowTrailingComma: true };

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

  /**
   * Sets a member. An index behind the end of a list appends. Nothing else in the text changes, not
   * even its layout.
   */
  set(path: JSONPath, value: unknown): void {
    const isArrayInsertion = typeof path.at(-1) === 'number';
    this.#text = applyEdits(this.#text, modify(this.#text, path, value, { isArrayInsertion }));
    this.#parse();
  }

  /** Takes a member out, and the comma beside it. Comments around it stay. */
  remove(path: JSONPath): void {
    const root = parseTree(this.#text, [], OPTIONS);
    const node = root && findNodeAtLocation(root, path);
    if (!node) return;
    const member = typeof path.at(-1) === 'number' ? node : (node.parent ?? node);
    const end = member.offset + member.length;
    const commas = commasIn(this.#text);
    const isBlank = (from: number, to: number) =>
      withoutComments(this.#text.slice(from, to)) === '';
    const comma =
      commas.find((place) => place >= end && isBlank(end, place)) ??
      commas.findLast((place) => place < member.offset && isBlank(place + 1, member.offset));
    const cuts = [{ offset: member.offset, length: member.length, content: '' }];
    if (comma !== undefined) cuts.push({ offset: comma, length: 1, content: '' });
    this.#text = applyEdits(this.#text, cuts);
    this.#parse();
  }

  /** Shows what changes, and writes it once the person agrees. Returns whether it was written. */
  async write(session: Session, isAgreed: boolean): Promise<boolean> {
    const { io } = session;
    this.#layOut();
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

  /** Gives a file a layout that had nothing in it before, or has nothing left. */
  #layOut(): void {
    const isEmpty = (text: string) => /^\s*(\{\s*\}\s*)?$/.test(text);
    if (this.#text === this.#before || !(isEmpty(this.#before) || isEmpty(this.#text))) return;
    this.#text = `${JSON.stringify(this.value, null, 2)}\n`;
  }

  #parse(): unknown {
    const errors: ParseError[] = [];
    const value: unknown = parse(this.#text, errors, OPTIONS);
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

/** The places of the commas that are no part of a text or a comment. */
function commasIn(text: string): number[] {
  const places: number[] = [];
  const onSeparator = (character: string, place: number) => {
    if (character === ',') places.push(place);
  };
  visit(text, { onSeparator }, OPTIONS);
  return places;
}

function withoutComments(text: string): string {
  return stripComments(text).trim();
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
