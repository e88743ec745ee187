// The limits of Block Kit, with the errors that Slack gives.
import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import { SlackRefusal } from './workspace.ts';

export const blocksMax = 50;
const viewBlocksMax = 100;
const elementsMax: Readonly<Record<string, number>> = { actions: 25, context: 10 };
const textMax: Readonly<Record<string, number>> = { section: 3000, header: 150, markdown: 12_000 };
const fieldMax = 2000;
const buttonTextMax = 75;
const valueMax = 2000;
const idMax = 255;

const knownTypes = new Set(
  'actions alert card carousel container context context_actions data_table divider file header image input markdown rich_text section table task_card plan video'.split(
    ' ',
  ),
);

/** Throws `invalid_blocks` with the places of all mistakes. */
export const checkBlocks = (value: Json | undefined, max = blocksMax): JsonObject[] => {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new SlackRefusal('invalid_blocks_format');
  const problems = new BlockProblems();
  if (value.length > max) problems.add('', `no more than ${max} items allowed`);
  value.forEach((block: Json, index) => checkBlock(block, `/blocks/${index}`, problems));
  checkUnique(value, 'block_id', '/blocks', problems);
  if (problems.list.length > 0) throw new SlackRefusal('invalid_blocks', problems.list);
  return value as JsonObject[];
};

/** Throws `invalid_arguments` as `views.open` does. */
export const checkView = (view: Json | undefined): JsonObject => {
  if (!isObject(view)) throw new SlackRefusal('invalid_arguments', ['[ERROR] missing required field: view']);
  const problems = new BlockProblems();
  if (view['type'] !== 'modal' && view['type'] !== 'home') problems.add('/view/type', 'must be modal or home');
  const isModal = view['type'] === 'modal';
  for (const key of ['title', 'submit', 'close'] as const) {
    const isRequired = key === 'title' && isModal;
    if (isRequired || view[key] !== undefined) checkText(view[key], 24, `/view/${key}`, problems);
  }
  checkString(view['callback_id'], idMax, '/view/callback_id', problems);
  checkString(view['private_metadata'], 3000, '/view/private_metadata', problems);
  const { blocks } = view;
  if (!Array.isArray(blocks)) problems.add('/view/blocks', 'missing required field: blocks');
  else {
    if (blocks.length > viewBlocksMax) problems.add('/view/blocks', `no more than ${viewBlocksMax} items allowed`);
    blocks.forEach((block: Json, index) => checkBlock(block, `/view/blocks/${index}`, problems));
    checkUnique(blocks, 'block_id', '/view/blocks', problems);
    const hasInput = blocks.some((block: Json) => isObject(block) && block['type'] === 'input');
    if (isModal && hasInput && view['submit'] === undefined)
      problems.add('/view/submit', 'submit button is required when an input block is within blocks array');
  }
  if (problems.list.length > 0) throw new SlackRefusal('invalid_arguments', problems.list);
  return view;
};

class BlockProblems {
  readonly list: string[] = [];

  add(pointer: string, problem: string): void {
    this.list.push(`[ERROR] ${problem} [json-pointer:${pointer}]`);
  }
}

const checkBlock = (block: Json, at: string, problems: BlockProblems): void => {
  if (!isObject(block) || typeof block['type'] !== 'string') return problems.add(at, 'must be an object with a type');
  const { type } = block;
  if (!knownTypes.has(type)) return problems.add(`${at}/type`, `unsupported type: ${type}`);
  checkString(block['block_id'], idMax, `${at}/block_id`, problems);
  if (type === 'markdown') checkString(block['text'], textMax['markdown']!, `${at}/text`, problems, 1);
  if (type === 'header') checkText(block['text'], textMax['header']!, `${at}/text`, problems);
  if (type === 'section') checkSection(block, at, problems);
  if (type === 'task_card') checkTaskCard(block, at, problems);
  const { elements } = block;
  const limit = elementsMax[type];
  if (limit !== undefined) {
    if (!Array.isArray(elements) || elements.length === 0 || elements.length > limit)
      return problems.add(`${at}/elements`, `must have from 1 to ${limit} items`);
    elements.forEach((one: Json, index) => checkElement(one, `${at}/elements/${index}`, problems));
    checkUnique(elements, 'action_id', `${at}/elements`, problems);
  }
  for (const key of ['accessory', 'element'] as const)
    if (block[key] !== undefined) checkElement(block[key], `${at}/${key}`, problems);
  if (type === 'input') checkText(block['label'], 2000, `${at}/label`, problems);
};

const checkSection = (block: JsonObject, at: string, problems: BlockProblems): void => {
  const { text, fields } = block;
  if (text === undefined && fields === undefined) problems.add(at, 'text or fields is required');
  if (text !== undefined) checkText(text, textMax['section']!, `${at}/text`, problems);
  if (fields === undefined) return;
  if (!Array.isArray(fields) || fields.length === 0 || fields.length > 10)
    return problems.add(`${at}/fields`, 'must have from 1 to 10 items');
  fields.forEach((one: Json, index) => checkText(one, fieldMax, `${at}/fields/${index}`, problems));
};

const checkTaskCard = (block: JsonObject, at: string, problems: BlockProblems): void => {
  checkString(block['task_id'], idMax, `${at}/task_id`, problems, 1);
  checkString(block['title'], Infinity, `${at}/title`, problems, 1);
  if (!taskStatuses.has(block['status'])) problems.add(`${at}/status`, 'must be a valid enum value');
  for (const key of ['details', 'output'] as const) {
    const part = block[key];
    if (part !== undefined && (!isObject(part) || part['type'] !== 'rich_text'))
      problems.add(`${at}/${key}`, 'must be a rich_text block');
  }
};

export const taskStatuses = new Set<unknown>(['pending', 'in_progress', 'complete', 'error']);

const checkElement = (element: Json | undefined, at: string, problems: BlockProblems): void => {
  if (!isObject(element)) return problems.add(at, 'must be an object');
  checkString(element['action_id'], idMax, `${at}/action_id`, problems);
  if (element['type'] === 'mrkdwn' || element['type'] === 'plain_text') checkText(element, 3000, at, problems);
  if (element['type'] !== 'button') return;
  checkText(element['text'], buttonTextMax, `${at}/text`, problems);
  checkString(element['value'], valueMax, `${at}/value`, problems);
  checkString(element['url'], 3000, `${at}/url`, problems);
};

const checkText = (text: Json | undefined, max: number, at: string, problems: BlockProblems): void => {
  if (!isObject(text) || (text['type'] !== 'mrkdwn' && text['type'] !== 'plain_text'))
    return problems.add(at, 'must be a text object');
  checkString(text['text'], max, `${at}/text`, problems, 1);
};

/** `min`: 1 if the field is required. */
const checkString = (text: Json | undefined, max: number, at: string, problems: BlockProblems, min = 0): void => {
  if (text === undefined && min === 0) return;
  if (typeof text !== 'string') return problems.add(at, 'must be a string');
  if (text.length < min) problems.add(at, `must be more than ${min - 1} characters`);
  if (text.length > max) problems.add(at, `must be less than ${max + 1} characters`);
};

const checkUnique = (items: readonly Json[], key: string, at: string, problems: BlockProblems): void => {
  const ids = items.flatMap((one) => (isObject(one) && typeof one[key] === 'string' ? [one[key]] : []));
  if (new Set(ids).size < ids.length) problems.add(at, `\`${key}\` already exists`);
};
