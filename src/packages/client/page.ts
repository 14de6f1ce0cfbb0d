/** One page of a list. */
export interface Page<T> {
  data: T[];
  has_more: boolean;
  /** The `cursor` of the next page. */
  next_cursor: string | null;
}

/**
 * A list: `await` reads one page, `for await` reads the entries of all pages, each page when it is
 * needed. A list that is neither awaited nor iterated sends nothing.
 */
export class PagePromise<T> implements Promise<Page<T>>, AsyncIterable<T> {
  readonly [Symbol.toStringTag] = 'PagePromise';

  readonly #read: (cursor: string | undefined) => Promise<Page<T>>;

  /** @param read reads the page at a cursor; without one, the page that the caller asked for */
  constructor(read: (cursor: string | undefined) => Promise<Page<T>>) {
    this.#read = read;
  }

  // biome-ignore lint/suspicious/noThenProperty: `await` shall read the page
  then<Result = Page<T>, Failure = never>(
    onFulfilled?: ((page: Page<T>) => Result | PromiseLike<Result>) | null,
    onRejected?: ((reason: unknown) => Failure | PromiseLike<Failure>) | null,
  ): Promise<Result | Failure> {
    return this.#read(undefined).then(onFulfilled, onRejected);
  }

  catch<Failure = never>(
    onRejected?: ((reason: unknown) => Failure | PromiseLike<Failure>) | null,
  ): Promise<Page<T> | Failure> {
    return this.then(undefined, onRejected);
  }

  finally(onFinally?: (() => void) | null): Promise<Page<T>> {
    return this.then().finally(onFinally);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    let cursor: string | undefined;
    do {
      const page = await this.#read(cursor);
      yield* page.data;
      cursor = (page.has_more && page.next_cursor) || undefined;
    } while (cursor);
  }
}
