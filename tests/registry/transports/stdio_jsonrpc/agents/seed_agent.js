#!/usr/bin/env node
const readline = require('readline');

const rl = readline.createInterface({
  input: process.stdin,
  output: process.stdout,
  terminal: false
});

rl.on('line', (line) => {
  try {
    const request = JSON.parse(line);
    const response = handleRequest(request);
    console.log(JSON.stringify(response));
  } catch (error) {
    console.error(JSON.stringify({
      jsonrpc: "2.0",
      id: null,
      error: {
        code: -32603,
        message: error.message
      }
    }));
    process.exit(1);
  }
});

function handleRequest(request) {
  const { method, params, id } = request;
  
  if (method === 'tools/call' && params.name === 'execute_task') {
    const { prompt } = params.arguments;
    return {
      jsonrpc: "2.0",
      id,
      result: `Processed: ${prompt}`
    };
  }
  
  return {
    jsonrpc: "2.0",
    id,
    error: {
      code: -32601,
      message: "Method not found"
    }
  };
}
