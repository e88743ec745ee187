// The text that the records of most runs have in common: what `packed-records.ts` need not store with each of them.
//
//   dictionary-frozen. A dictionary never changes, because what it packed can only be read with it. A better one gets the next
//       number and stands beside it.

// What is frequent comes last: of fragments that begin alike, the packer finds the last one.
const fragments: readonly string[] = [
  // Rare records.
  `{"type":"delivered","messages":["m-{"type":"held","op":{"type":"again","op":,"uncertain":{"tokens":{"type":"cancel"}{"type":"resume","downMs":`,
  `{"type":"ruling","op":,"by":"","right":"operator","verdict":"allow","argsHash":"","signal":"`,
  `"question":{"tool":"","args":{"argsHash":"","why":"tool","rule":{"need":`,
  // Definitions: the tools and the guidance that come with the runtime.
  `"properties":{"prompt":{"type":"string","description":"The complete task. The agent sees nothing else."},"reason":{"type":"string","description":"Why you are calling the agent, for the log. The agent does not see this."},"timeout_ms":{"type":"integer","minimum":1,"description":"Less working time than it has by itself, in milliseconds."},"tools":{"type":"array","items":{"type":"string"},"description":"Only these of its tools, by name. Default: all."}},"required":["prompt"],"additionalProperties":false}},`,
  `{"name":"write_file","description":"Write one of your files, overwriting it if it exists.","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"],"additionalProperties":false}},{"name":"read_file","name":"list_files","`,
  `{"type":"number","enum":["default":true,"$schema":"http://json-schema.org/draft-07/schema#","items":{"type":"string"},"type":"boolean","description":"The maximum number of `,
  `"definitions":[{"digest":"","definition":{"prompt":"You are an assistant that answers questions. Use the tools. ","guidance":"You are the agent \\"\\".\\nAvailable tools: , read_output.\\nComplete the task and provide a clear summary.","tools":[{"name":"","description":"","inputSchema":{"type":"object","properties":{"query":{"type":"string","description":"}},"required":[""]}},{"name":"read_output","description":"Read part of an earlier output that was too long to show in full. \`from\` is an offset and \`bytes\` a length, both in UTF-8 bytes.","inputSchema":{"type":"object","properties":{"name":{"type":"string"},"from":{"type":"integer","minimum":0},"bytes":{"type":"integer","minimum":0}},"required":["name"],"additionalProperties":false}}],"sources":[],"input":{"format":"text"},"output":{"format":"text"},"grants":["goal","result","note","message","history","share"],"limits":{"maxToolTurns":},"settings":{},"budget":{}}}]}`,
  // Mail and teams.
  `"content":"{\\"id\\":\\"m-\\",\\"message_type\\":\\"answer\\",\\"agent_id\\":null,\\"recipient_id\\":\\"\\",\\"correlation_id\\":null,\\"at\\":,\\"chain\\":\\"m-\\"}\\n`,
  `"record":{"type":"post","op":,"name":"mail:answer","about":{"status":"completed","to":""},"ok":true,"value":{}},"links":[`,
  `"record":{"type":"mail","to":""},"links":[`,
  `"grant":"message","kind":"message","labels":[],"other":"`,
  `"record":{"type":"give","to":""},"grant":"history","kind":"history","content":"{\\"conversation\\":\\"\\",\\"leftOut\\":0,\\"entries\\":[{\\"agent\\":null,\\"category\\":\\"CONTEXT\\",\\"text\\":\\"`,
  `"record":{"type":"begin","op":,"do":"receive","name":"wait"}}`,
  `"record":{"type":"begin","op":,"do":"ask","name":"ask:","until":`,
  // Agents that are called.
  `"do":"child","name":"agent:","about":{"step":1,"tool":"agent:spawn","args":"{\\"prompt\\":\\"\\"}"},"birth":{"cell":"","parent":"","agent":"","digest":"","depth":1,"caps":{},"deadline":0}},"links":[`,
  `"ids":["`,
  `"value":{"crossing":},"ended":{"cell":"","outcome":{"status":"completed","output":"`,
  // The beginning and the end of a run.
  `"record":{"type":"open","recordedBy":{"format":9,"build":"cloister 0.1.0"},"birth":{"cell":"","parent":null,"agent":"","digest":"","depth":0,"caps":{},"deadline":0},"started":{"agents":["],"cwd":"},"conversation":{"agent":"","name":"},"caller":"","requestHash":"","env":["]},"links":[{"cell":"`,
  `"record":{"type":"close","outcome":{"status":"completed","output":"","data":null,"failure":null,"missing":[],"spent":{"inputTokens":,"cacheReadTokens":0,"cacheWriteTokens":0,"outputTokens":,"usd":0.00,"usd":null,"ms":,"steps":1,"spawns":0,"uncertain":0}}},"links":[{"cell":"","entries":[{"at":,"bytes":,"grant":"result","kind":"result","labels":[],"other":"outside","seq":1,"sha256":"","tokens":,"verdict":"granted","way":"out"}],"previous":"","hash":""}],"contents":[{"cell":"","seq":1,"kind":"result","from":"","to":"outside","labels":[],"content":"{\\"status\\":\\"completed\\",\\"output\\":\\"\\",\\"error\\":null,\\"missing\\":[]}"}]}`,
  `"entries":[{"at":,"bytes":,"grant":"goal","kind":"goal","labels":[],"other":"outside","seq":0,"sha256":"","tokens":,"verdict":"granted","way":"in"}],"previous":"0000000000000000000000000000000000000000000000000000000000000000","hash":""}],"contents":[{"cell":"","seq":0,"kind":"goal","from":"outside","to":"","labels":[],"content":"`,
  // Steps.
  `"ok":false,"ms":1,"failure":{"code":"tool_failed","detail":"`,
  `"record":{"type":"begin","op":1,"do":"step","name":"tool:","repeat":"never","about":{"step":1,"tool":"","args":"{\\"query\\":\\"\\"}"}}}`,
  `"record":{"type":"settle","op":1,"ok":true,"ms":1,"value":{"text":"","output":{"name":"_001.txt","ref":"","bytes":`,
  `"record":{"type":"begin","op":0,"do":"step","name":"model:openai/gpt-5-mini","model:anthropic/claude-sonnet-4-5","repeat":"free","hold":{"tokens":,"nanoUsd":}},"attempt":{"turn":1,"model":"","settings":"","changes":[{"drop":[{"replace":[{"add":[{"id":0,"origin":{"rule":"system@1","of":[{"from":"definition","digest":"","path":"prompt"},{"from":"definition","digest":"","path":"guidance"}]},"category":"SYSTEM","bytes":},{"id":1,"origin":{"rule":"tool@1","of":[{"from":"definition","digest":"","path":"tools/0"}]},"category":"SYSTEM","bytes":},{"id":2,"origin":{"rule":"tool@1","of":[{"from":"definition","digest":"","path":"tools/1"}]},"category":"SYSTEM","bytes":}]},{"add":[{"id":3,"origin":{"rule":"goal@1","of":[{"from":"crossing","seq":0}]},"category":"DIALOG","bytes":}]}],`,
  `"attempt":{"turn":2,"model":"","settings":"","changes":[{"add":[{"id":,"origin":{"rule":"reply@1","of":[{"from":"reply","no":0,"part":0},{"from":"reply","no":0,"part":1}]},"category":"DIALOG","bytes":},{"id":,"origin":{"rule":"tool-result@1","of":[{"from":"reply","no":0,"part":1},{"from":"operation","no":1}]},"category":"TOOLS","bytes":}]}],"prompt":"","bytes":,"chars":,"tokens":,"window":{"tokens":128000,"by":"model"},"by":"default"},"reply":{"tokens":8192}}}`,
  `"stalls":[{"cell":"","most":,"count":1`,
  `,"record":{"type":"settle","op":0,"ok":true,"ms":1,"value":{"parts":[{"type":"reasoning","text":"The "},{"type":"text","text":"The "},{"type":"call","id":"call_","name":"","input":"{\\"\\":\\"\\"}"}],"finish":"tool-calls","finish":"stop","usage":{"inputTokens":1,"outputTokens":1,"cacheReadTokens":0,"cacheWriteTokens":0}},"cost":{"usage":{"inputTokens":1,"outputTokens":1,"cacheReadTokens":0,"cacheWriteTokens":0},"nanoUsd":null}}}`,
  `{"run":"0","no":1,"at":17,"cell":"`,
];

export const recordDictionary: string = fragments.join('');
