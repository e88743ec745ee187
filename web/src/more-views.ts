// Lists and graphs: one file, loaded when the first of them is shown.
export { Agents } from './agents/agents.tsx';
export { Mail } from './panes/mail.tsx';
export { Tasks } from './panes/tasks.tsx';
export { Tree } from './panes/tree.tsx';
export { QuestionCard } from './questions/question-card.tsx';
export { Questions } from './questions/questions.tsx';
export { Runs } from './runs/runs.tsx';
