import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { expect, it } from 'vitest';
import { ROOT } from '../../src/tools/project';

const GUIDES = join(ROOT, 'src/docs/guides');
const CLIENT = join(ROOT, 'src/packages/client');

/**
 * Packages that a guide uses and that this project has not installed: what the examples need of
 * them.
 */
const NOT_INSTALLED = `
declare module '@ai-sdk/openai' { export const openai: (model: string) => import('ai').LanguageModel; }
declare module '@langchain/openai' {
  import { BaseChatModel } from '@langchain/core/language_models/chat_models';
  export const ChatOpenAI: new (options: { model: string }) => BaseChatModel;
}`;

/** Every code block in JavaScript or TypeScript, by the name of a file beside the guides. */
function codeBlocks(): Map<string, string> {
  const guides = readdirSync(GUIDES).filter((name) => name.endsWith('.md'));
  const sources = [
    ...guides.map((name) => join(GUIDES, name)),
    join(CLIENT, 'README.md'),
    join(ROOT, 'README.md'),
  ];
  const blocks = sources.flatMap((path) => {
    const found = [...readFileSync(path, 'utf8').matchAll(/^ *```(js|ts)\n([\s\S]*?)^ *```/gm)];
    return found.map(([, language, code = ''], index): [string, string] => [
      `${path}.${index}.${language}`,
      code,
    ]);
  });
  return new Map(blocks);
}

/** Compiles files that exist in memory only. Returns what is wrong with them. */
function compile(files: Map<string, string>, options: ts.CompilerOptions): string[] {
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => files.has(path) || fileExists(path);
  host.readFile = (path) => files.get(path) ?? readFile(path);
  host.getSourceFile = (path, ...rest) => {
    const text = files.get(path);
    return text === undefined
      ? getSourceFile(path, ...rest)
      : ts.createSourceFile(path, text, ts.ScriptTarget.ESNext);
  };
  const program = ts.createProgram([...files.keys()], options, host);
  const isOfFiles = ({ file }: ts.Diagnostic) => file === undefined || files.has(file.fileName);
  return ts
    .getPreEmitDiagnostics(program)
    .filter(isOfFiles)
    .map(({ file, start, messageText, code }) => {
      const line = file ? file.getLineAndCharacterOfPosition(start ?? 0).line + 1 : 0;
      return `${file?.fileName}:${line} TS${code} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
    });
}

const OPTIONS: ts.CompilerOptions = {
  strict: true,
  noEmit: true,
  allowJs: true,
  checkJs: true,
  skipLibCheck: true,
  target: ts.ScriptTarget.ESNext,
  module: ts.ModuleKind.Preserve,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  moduleDetection: ts.ModuleDetectionKind.Force,
  allowImportingTsExtensions: true,
  types: ['node'],
  typeRoots: [join(ROOT, 'node_modules/@types')],
  paths: {
    countersign: [join(CLIENT, 'index.ts')],
    'countersign/*': [join(CLIENT, 'adapters/*.ts')],
  },
};

it('every code block of every guide passes the compiler in its strict mode', () => {
  const blocks = codeBlocks();
  expect(blocks.size).toBeGreaterThan(9);
  const files = new Map([...blocks, [join(GUIDES, 'not-installed.d.ts'), NOT_INSTALLED]]);
  expect(compile(files, OPTIONS)).toEqual([]);
});

it('the example of the guide ai-sdk passes with version 6, too', () => {
  const examples = [...codeBlocks()].filter(([path]) => path.includes('ai-sdk.md'));
  const files = new Map([...examples, [join(GUIDES, 'not-installed.d.ts'), NOT_INSTALLED]]);
  const paths = { ...OPTIONS.paths, ai: [join(ROOT, 'node_modules/ai-6')] };
  expect(compile(files, { ...OPTIONS, paths })).toEqual([]);
});

it('finds what does not compile', () => {
  const wrong =
    "import { wrapTools } from 'countersign/ai-sdk';\nwrapTools({}, { mode: 'sleep' });\n";
  expect(compile(new Map([[join(GUIDES, 'wrong.ts'), wrong]]), OPTIONS)).toEqual([
    expect.stringMatching(/wrong\.ts:2 TS2322 /),
  ]);
});
