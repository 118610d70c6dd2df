import Foundation
import StrataCommand

/// Runs the program `strata-browse` with a command line; the exit code. Serves the page until a signal ends the program.
package func runBrowse(_ arguments: [String]) -> Int32 {
  runStrataBrowse(arguments) { browser, options in
    let server = try PageServer(browser, port: options.port ?? 0)
    defer { server.stop() }
    try BrowseReport.line(server.address)
    try BrowseReport.line(
      "\(browser.path) is \(browser.writes ? "open for edits, which are saved when you say so" : "only read"). Ctrl-C ends the page."
    )
    if options.open { try SystemBrowser.show(server.address) }
    try server.wait()
  }
}

/// The browser that the system would choose.
private enum SystemBrowser {
  static func show(_ address: String) throws {
    #if canImport(Darwin)
      let program = "open"
    #else
      let program = "xdg-open"
    #endif
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [program, address]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    do {
      try process.run()
    } catch {
      throw BrowseReport.failure("\(program) cannot be started: \(error.localizedDescription)")
    }
    process.waitUntilExit()
    if process.terminationStatus != 0 {
      try BrowseReport.line(
        "\(program) cannot open a browser here: the address above has to be opened by hand.")
    }
  }
}
