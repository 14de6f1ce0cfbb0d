/**
 * The tables that one SELECT (or UPDATE, or DELETE) of a statement reads, by the names that its
 * columns have.
 */
type Scope = Set<string>;

interface Comparison {
  scope: Scope;
  left: string[];
  right: string[];
}

const TOKEN = /'(?:[^']|'')*'|"[^"]*"(?:\."[^"]*")?|[A-Za-z_][\w$]*(?:\.[\w$]+)?|==|[<>!]=|\S/g;
const NAME = /^[A-Za-z_"]/;
const QUERY = /^(select|with)$/;
const FROM_ENDS = /^(where|group|order|limit|having|set|returning|union|except|intersect)$/;
const NO_ALIAS =
  /^(where|group|order|limit|having|set|returning|union|except|intersect|on|using|join|cross|left|inner|indexed|not|default|values|select)$/;

/**
 * Returns the comparisons of a statement that compare a column with itself, such as
 * `number = accounts.number` in `(select … from accounts where number = accounts.number)`.
 *
 * Such a condition holds for each row. It is what becomes of a condition on the outer query's table
 * when the sub-select reads the same table without an alias: there the name means the inner table,
 * and SQLite reports nothing.
 */
export function findSelfComparisons(statement: string): string[] {
  const tokens = (statement.match(TOKEN) ?? []).map((token) => token.replaceAll('"', ''));
  const comparisons: Comparison[] = [];
  let scope: Scope = new Set();
  let isInFrom = false;
  // Between SET and WHERE, the sign `=` assigns.
  let isAssigning = false;
  const outer: { scope: Scope; isInFrom: boolean; isAssigning: boolean }[] = [];
  tokens.forEach((token, i) => {
    const word = token.toLowerCase();
    if (token === '(') {
      outer.push({ scope, isInFrom, isAssigning });
      isAssigning = false;
      if (QUERY.test((tokens[i + 1] ?? '').toLowerCase())) [scope, isInFrom] = [new Set(), false];
    } else if (token === ')') {
      ({ scope, isInFrom, isAssigning } = outer.pop() ?? { scope, isInFrom, isAssigning });
    } else if (token === '=' && !isAssigning) {
      const [left, right] = [(tokens[i - 1] ?? '').split('.'), (tokens[i + 1] ?? '').split('.')];
      if (NAME.test(left[0] ?? '') && left.at(-1) === right.at(-1))
        comparisons.push({ scope, left, right });
    }
    if (word === 'from' || word === 'join') isInFrom = true;
    else if (FROM_ENDS.test(word)) isInFrom = false;
    if (word === 'set') isAssigning = true;
    else if (FROM_ENDS.test(word)) isAssigning = false;
    if (word === 'union') scope = new Set();
    const isBeforeTable =
      word === 'from' || word === 'join' || word === 'update' || (token === ',' && isInFrom);
    if (isBeforeTable) addTable(scope, tokens.slice(i + 1, i + 4));
  });
  const isSelf = ({ scope, left, right }: Comparison) => {
    const [leftTable, rightTable] = [left, right].map((name) =>
      name.length === 2 ? name[0] : undefined,
    );
    if (leftTable !== undefined && rightTable !== undefined) return leftTable === rightTable;
    return scope.has(leftTable ?? rightTable ?? '');
  };
  return comparisons
    .filter(isSelf)
    .map(({ left, right }) => `${left.join('.')} = ${right.join('.')}`);
}

/** Adds the table with which these tokens begin: by its alias, if it has one. */
function addTable(scope: Scope, [table = '', next = '', alias = '']: string[]): void {
  if (!NAME.test(table) || QUERY.test(table.toLowerCase())) return;
  if (next.toLowerCase() === 'as') scope.add(alias);
  else if (NAME.test(next) && !NO_ALIAS.test(next.toLowerCase())) scope.add(next);
  else scope.add(table);
}
