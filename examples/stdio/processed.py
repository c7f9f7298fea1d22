#!/usr/bin/env python3
import json
import sys

def handle_request(request):
    """Process JSON-RPC request"""
    method = request.get("method")
    params = request.get("params", {})
    
    if method == "tools/call":
        tool_name = params.get("name")
        args = params.get("arguments", {})
        
        if tool_name == "execute_task":
            prompt = args.get("prompt", "")
            # Do work here
            result = f"Processed: {prompt}"
            
            return {
                "jsonrpc": "2.0",
                "id": request.get("id"),
                "result": result
            }
    
    return {
        "jsonrpc": "2.0",
        "id": request.get("id"),
        "error": {
            "code": -32601,
            "message": "Method not found"
        }
    }

def main():
    for line in sys.stdin:
        try:
            request = json.loads(line)
            response = handle_request(request)
            print(json.dumps(response), flush=True)
        except Exception as e:
            error_response = {
                "jsonrpc": "2.0",
                "id": None,
                "error": {
                    "code": -32603,
                    "message": str(e)
                }
            }
            print(json.dumps(error_response), flush=True)
            sys.exit(1)

if __name__ == "__main__":
    main()
