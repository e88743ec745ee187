// Looks for code that passes something off as content that crossed. It asks the type checker, so spelling does not matter.
//
//   guard-no-forged-type. Nothing outside core/crossings gives a value a type that carries the brand: no assertion, predicate,
//       type argument, overload, copy, and no `any` where the brand is wanted or where it is not given a type at once.
//   guard-listed-makers. Whoever creates a door, or names its ends, is in the table of makers.
//   guard-compiler-not-silenced. No comment silences the compiler.
//
// The API of the checker is marked as unstable, so nothing else uses it. The seal of a `Crossed` does not depend on this.
import { resolve } from 'node:path';
import { API, SignatureKind, SymbolFlags, TypeFlags } from 'typescript/unstable/sync';
import type { Checker, Type } from 'typescript/unstable/sync';
import { SyntaxKind } from 'typescript/unstable/ast';
import type { Node, SourceFile } from 'typescript/unstable/ast';

export type Forgery = { readonly file: string; readonly line: number; readonly rule: string; readonly text: string };

/** The files that may create a door, admit ends to it, or restore what the log contains. */
const makers: Readonly<Record<string, readonly string[]>> = {
  'new Door': ['src/core/cells/local-run.ts'],
  'Door.admit': [
    'src/core/cells/create-child.ts',
    'src/core/cells/local-context.ts',
    'src/core/cells/party.ts',
    'src/core/orchestration/outside-spawn.ts',
    'src/core/orchestration/run-agent.ts',
  ],
  'Door.restore': ['src/core/cells/local-run.ts'],
};

/** Where an operation is known to be a child, whose goal crossed when it was created. */
const narrowed: Readonly<Record<string, readonly string[]>> = {
  'src/core/cells/operation-records.ts': ['StartedChild'],
  'src/core/cells/local-context.ts': ['InFlightOperation<StartedChild>'],
  'src/core/cells/log-follower.ts': ['InFlightOperation<StartedChild>'],
  'src/core/cells/replay-comparison.ts': ['InFlightOperation<StartedChild>'],
};

const home = 'src/core/crossings/';

/** Checks the files of core, and the examples of forgeries beside this file. */
export const findForgeries = (
  root: string,
): { readonly files: readonly string[]; readonly forgeries: readonly Forgery[] } => {
  const api = new API({ cwd: root });
  try {
    const config = resolve(root, 'tools/guard/tsconfig.json');
    const { program, checker } = api.updateSnapshot({ openProjects: [config] }).getProject(config)!;
    const files = program
      .getSourceFileNames()
      .filter((name) => name.startsWith(`${root}/`))
      .map((name) => name.slice(root.length + 1))
      .filter((file) => file.startsWith('src/core/') || file.startsWith('tools/guard/forged/'));
    const brand = new Brand(checker);
    const check = (file: string): readonly Forgery[] =>
      new FileCheck(program.getSourceFile(`${root}/${file}`)!, file, checker, brand).run();
    return { files, forgeries: files.flatMap(check) };
  } finally {
    api.close();
  }
};

type Part = Node & {
  readonly expression: Part;
  readonly type?: Part;
  readonly name?: Part;
  readonly body?: Part;
  readonly initializer?: Part;
  readonly questionToken?: Part;
  readonly parent: Part;
  readonly typeParameters?: readonly Part[];
  readonly parameters?: readonly Part[];
  readonly arguments?: readonly Part[];
};

class FileCheck {
  readonly #found: Forgery[] = [];
  readonly #file: SourceFile;
  readonly #path: string;
  readonly #checker: Checker;
  readonly #brand: Brand;
  readonly #calls: Part[] = [];
  readonly #bindings: Part[] = [];
  readonly #given: Part[] = [];

  constructor(file: SourceFile, path: string, checker: Checker, brand: Brand) {
    this.#file = file;
    this.#path = path;
    this.#checker = checker;
    this.#brand = brand;
  }

  run(): readonly Forgery[] {
    for (const { index } of this.#file.text.matchAll(/@ts-(?:ignore|expect-error|nocheck)/gu))
      this.#add('silenced', index);
    if (this.#path.startsWith(home)) return this.#found;
    this.#visit(this.#file as unknown as Part);
    this.#checkCalls();
    this.#checkBindings();
    return this.#found;
  }

  #add(rule: string, at: number): void {
    const line = this.#file.text.slice(0, at).split('\n').length;
    this.#found.push({ file: this.#path, line, rule, text: this.#file.text.split('\n')[line - 1]!.trim() });
  }

  #report(rule: string, node: Part): void {
    this.#add(rule, node.getStart(this.#file));
  }

  #visit(node: Part): void {
    switch (node.kind) {
      case SyntaxKind.AsExpression:
      case SyntaxKind.TypeAssertionExpression:
        this.#checkAssertion(node);
        break;
      case SyntaxKind.TypePredicate:
        this.#checkPredicate(node);
        break;
      case SyntaxKind.FunctionDeclaration:
      case SyntaxKind.MethodDeclaration:
        if (node.body === undefined && node.type !== undefined && this.#bears(this.#typeOf(node.type)))
          this.#report('overload', node);
        break;
      case SyntaxKind.StringLiteral:
        // However it is imported: by a declaration, an export, a call or a type.
        if (/\bcrossings\/(?!index\b)[\w-]+\.[jt]s$/u.test((node as unknown as { readonly text: string }).text))
          this.#report('inner file', node);
        break;
      case SyntaxKind.NewExpression:
      case SyntaxKind.CallExpression:
        this.#calls.push(node);
        this.#given.push(...(node.arguments ?? []));
        break;
      case SyntaxKind.VariableDeclaration:
      case SyntaxKind.BindingElement:
      case SyntaxKind.Parameter:
        if (node.name?.kind === SyntaxKind.Identifier) this.#bindings.push(node.name);
        if (node.initializer !== undefined) this.#given.push(node.initializer);
        break;
      case SyntaxKind.PropertyAssignment:
        this.#given.push(node.initializer!);
        break;
      case SyntaxKind.ReturnStatement:
        if ((node.expression as Part | undefined) !== undefined) this.#given.push(node.expression);
        break;
      default:
    }
    node.forEachChild((child) => {
      this.#visit(child as Part);
    });
  }

  #typeOf(node: Part): Type | undefined {
    return this.#checker.getTypeAtLocation(node);
  }

  #bears(type: Type | undefined): boolean {
    return type !== undefined && this.#brand.isIn(type);
  }

  #checkAssertion(node: Part): void {
    if (node.type!.getText(this.#file) === 'const') return;
    const target = this.#typeOf(node);
    if (target === undefined) return;
    if ((target.flags & (TypeFlags.Never | TypeFlags.Any)) !== 0) return this.#checkWanted('assertion', node);
    if (!this.#brand.isIn(target)) return;
    const source = this.#typeOf(innermost(node.expression));
    // What carries the brand already may be narrowed to a part of it, but not to another kind.
    const isNarrowed = source !== undefined && this.#brand.isIn(source) && !this.#brand.isOn(target);
    const isListed = narrowed[this.#path]?.includes(node.type!.getText(this.#file)) === true;
    if (!isNarrowed && !isListed) this.#report('assertion', node);
  }

  /** Something that fits everywhere, where a type with the brand is wanted. */
  #checkWanted(rule: string, node: Part): void {
    if (this.#bears(this.#checker.getContextualType(node as never))) this.#report(rule, node);
  }

  /** `x is Crossed`, of something that need not be one. */
  #checkPredicate(node: Part): void {
    if (node.type === undefined || !this.#bears(this.#checker.getTypeFromTypeNode(node.type as never))) return;
    const [parameter] = node.parent.parameters ?? [];
    if (parameter === undefined || !this.#bears(this.#typeOf(parameter))) this.#report('predicate', node);
  }

  #checkCalls(): void {
    if (this.#calls.length === 0) return;
    const types = this.#checker.getTypeAtLocation(this.#calls);
    for (const [index, node] of this.#calls.entries()) {
      this.#checkMaker(node);
      const made = types[index];
      if (made === undefined) continue;
      if ((made.flags & TypeFlags.Any) !== 0) {
        const member = outermostMember(node);
        if (!isAsserted(member)) this.#checkWanted('any', member);
      } else if (this.#brand.isOn(made)) this.#checkBranded(node);
    }
  }

  /** A call that returns the brand: not a copy, and not a value of whatever type its caller wants. */
  #checkBranded(node: Part): void {
    if (copies.test(node.expression.getText(this.#file))) return this.#report('copy', node);
    const declaration = this.#checker.getResolvedSignature(node)?.declaration?.resolve() as Part | undefined;
    const returned = declaration?.type?.getText();
    if (returned === undefined || !(declaration?.typeParameters ?? []).some((one) => one.name?.getText() === returned))
      return;
    // An argument that can be left out shows nothing.
    const isTaken = (declaration?.parameters ?? []).some(
      (one) =>
        one.questionToken === undefined && new RegExp(String.raw`\b${returned}\b`, 'u').test(one.type?.getText() ?? ''),
    );
    if (!isTaken) this.#report('type argument', node);
  }

  #checkMaker(node: Part): void {
    const name = this.#makerName(node);
    if (name !== null && Object.hasOwn(makers, name) && !makers[name]!.includes(this.#path))
      this.#report(`maker ${name}`, node);
  }

  /** `new Door`, or the class of the receiver and the method. */
  #makerName({ kind, expression }: Part): string | null {
    if (kind === SyntaxKind.NewExpression) return `new ${expression.getText(this.#file)}`;
    if (expression.kind !== SyntaxKind.PropertyAccessExpression) return null;
    const method = expression.name!.getText(this.#file);
    if (!Object.keys(makers).some((name) => name.endsWith(`.${method}`))) return null;
    const receiver = this.#typeOf(expression.expression);
    const type = receiver && this.#checker.getNonNullableType(receiver);
    return type === undefined ? null : `${this.#checker.typeToString(type)}.${method}`;
  }

  /** An `any` that has a name can go anywhere: in a file that has one, everything that is given to somebody is checked. */
  #checkBindings(): void {
    const isAny = (type: Type | undefined): boolean => type !== undefined && (type.flags & TypeFlags.Any) !== 0;
    if (this.#bindings.length === 0 || !this.#checker.getTypeAtLocation(this.#bindings).some(isAny)) return;
    const types = this.#checker.getTypeAtLocation(this.#given);
    for (const [index, node] of this.#given.entries()) if (isAny(types[index])) this.#checkWanted('any', node);
  }
}

const copies = /^(?:structuredClone|Object\.(?:assign|create|freeze|setPrototypeOf|defineProperty|defineProperties))$/u;

/** All that is read from an `any` is one, too. */
const outermostMember = (node: Part): Part => {
  const { parent } = node;
  const isRead =
    parent.kind === SyntaxKind.PropertyAccessExpression || parent.kind === SyntaxKind.ElementAccessExpression;
  return isRead && parent.expression === node ? outermostMember(parent) : node;
};

const wrappers: readonly SyntaxKind[] = [
  SyntaxKind.AsExpression,
  SyntaxKind.TypeAssertionExpression,
  SyntaxKind.ParenthesizedExpression,
  SyntaxKind.NonNullExpression,
  SyntaxKind.AwaitExpression,
];

/** What is inside `x as unknown as T`, and in brackets. */
const innermost = (node: Part): Part => (wrappers.includes(node.kind) ? innermost(node.expression) : node);

/** Whether it gets a type right there; that type is checked. */
const isAsserted = ({ parent }: Part): boolean =>
  parent.kind === SyntaxKind.AsExpression || (wrappers.includes(parent.kind) && isAsserted(parent));

/** Which types carry the brand. */
class Brand {
  readonly #checker: Checker;
  readonly #known = new Map<string, boolean>();

  constructor(checker: Checker) {
    this.#checker = checker;
  }

  /** Whether values of the type, or of a member of the union, are branded themselves. */
  isOn(type: Type): boolean {
    if ((type.flags & TypeFlags.Union) !== 0) return membersOf(type).some((one) => this.isOn(one));
    if ((type.flags & (TypeFlags.Object | TypeFlags.Intersection)) === 0) return false;
    return this.#remember(`on ${idOf(type)}`, () =>
      this.#checker.getPropertiesOfType(type).some(({ name }) => brandName.test(name)),
    );
  }

  /** Whether something branded is within reach: in a union, an element, a property, or what a function returns. */
  isIn(type: Type, depth = 2): boolean {
    return this.#remember(`in ${idOf(type)} ${depth}`, () => this.#reaches(type, depth));
  }

  #remember(key: string, find: () => boolean): boolean {
    const before = this.#known.get(key);
    if (before !== undefined) return before;
    // A type may contain itself.
    this.#known.set(key, false);
    const found = find();
    this.#known.set(key, found);
    return found;
  }

  #reaches(type: Type, depth: number): boolean {
    if ((type.flags & TypeFlags.TypeParameter) !== 0) {
      const bound = this.#checker.getBaseConstraintOfType(type);
      return bound !== undefined && bound !== type && this.isIn(bound, depth);
    }
    if ((type.flags & TypeFlags.Union) !== 0) return membersOf(type).some((one) => this.isIn(one, depth));
    if ((type.flags & (TypeFlags.Object | TypeFlags.Intersection)) === 0) return false;
    if (this.isOn(type)) return true;
    if (this.#checker.isArrayType(type)) {
      const [element] = this.#checker.getTypeArguments(type as never);
      return element !== undefined && this.isIn(element, depth);
    }
    if (depth === 0) return false;
    const returns = [SignatureKind.Call, SignatureKind.Construct].some((kind) =>
      this.#checker.getSignaturesOfType(type, kind).some((signature) => {
        const returned = this.#checker.getReturnTypeOfSignature(signature);
        return returned !== undefined && this.isOn(returned);
      }),
    );
    // Classes keep it behind their methods; plain data is looked through.
    return (
      returns ||
      this.#checker.getPropertiesOfType(type).some((property) => {
        if ((property.flags & SymbolFlags.Property) === 0) return false;
        const of = this.#checker.getTypeOfSymbol(property);
        return of !== undefined && this.isIn(of, depth - 1);
      })
    );
  }
}

/** Of `Crossed`, and of `Grant`. */
const brandName = /^underSeal$|^__@granted@/u;

const idOf = (type: Type): string => String((type as unknown as { readonly id: number | string }).id);

const membersOf = (type: Type): readonly Type[] => (type as unknown as { getTypes(): readonly Type[] }).getTypes();
