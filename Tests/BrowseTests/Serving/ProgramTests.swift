import Foundation
import Strata
import StrataBrowse
import StrataCommand
import Testing
import TortureKit

/// The programs themselves: how they start, and what they say when they cannot.
@Suite struct ProgramTests {
  private struct Said {
    let code: Int32
    let output: String
    let error: String
  }

  private static func run(_ program: String, _ arguments: [String]) throws -> Said {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    let (out, error) = (Pipe(), Pipe())
    process.standardOutput = out
    process.standardError = error
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let output = String(decoding: out.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    let complaint = String(decoding: error.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return Said(code: process.terminationStatus, output: output, error: complaint)
  }

  @Test func theToolStartsTheProgramBesideIt() throws {
    let library = try Library()
    let process = try ChildProcess(ChildProcess.program("strata"), ["browse", library.path])
    let client = try Client(try #require(process.readLine()))
    #expect(process.readLine()?.contains("only read") == true)
    #expect(try client.object("begin")["writes"] as? Bool == false)
    kill(process.identifier, SIGINT)
    #expect(process.wait() == 128 + SIGINT, "Ctrl-C ends it")
    #expect((try? client.get("begin")) == nil)
  }

  @Test func withoutTheProgramTheToolSaysHowToBuildIt() throws {
    let library = try Library()
    let alone = library.folder("strata")
    // By another process: a file that a child of another test has open for writing by chance cannot be started.
    #expect(try Self.run("/bin/cp", [ChildProcess.program("strata"), alone]).code == 0)
    let said = try Self.run(alone, ["browse", library.path])
    #expect(said.code == 4 && said.output.isEmpty, "\(said)")
    #expect(said.error.contains("swift build -c release --product strata-browse"), "\(said)")
    #expect(said.error.split(separator: "\n").count == 1)
  }

  @Test func theShellServesNoPage() throws {
    let library = try Library()
    // It would ignore the signals that the shell ignores, and could not be stopped.
    let said = try Self.run(
      "/bin/sh", ["-c", "echo browse | \"$0\" shell \"$1\"", ChildProcess.program("strata"), library.path])
    #expect(said.code == 64 && said.error.contains("outside the shell"), "\(said)")
    #expect(!said.output.contains("http://"), "\(said)")
  }

  @Test func failuresAreOneSentence() throws {
    let library = try Library()
    let program = ChildProcess.program("strata-browse")
    let missing = try Self.run(program, [library.folder("None.strata")])
    #expect(missing.code == 4 && missing.error.split(separator: "\n").count == 1, "\(missing)")
    let text = library.folder("text")
    try Data(String(repeating: "no store ", count: 2_000).utf8).write(to: URL(fileURLWithPath: text))
    #expect(try Self.run(program, [text]).code == 5)
    let address = try Self.run(program, ["postgres:///app"])
    #expect(address.code == 64 && address.error.contains("works on files"), "\(address)")
    let page = try Page(library)
    let taken = try Self.run(program, [library.path, "--port", String(page.client.port)])
    #expect(taken.code == 6 && taken.error.contains("in use"), "\(taken)")
    #expect(try Self.run(program, [library.path, "--port", "70000"]).code == 64)
    #expect(try Self.run(program, ["--help"]).output.contains("--write"))
  }

  @Test func theBrowserIsOpenedWhenThatIsAsked() throws {
    let library = try Library()
    // What stands for the system's browser notes the address.
    let note = library.folder("opened")
    #if canImport(Darwin)
      let stand = library.folder("open")
    #else
      let stand = library.folder("xdg-open")
    #endif
    try ChildProcess.write(program: "#!/bin/sh\necho \"$1\" > '\(note)'\n", to: stand)
    let folder = URL(fileURLWithPath: stand).deletingLastPathComponent().path
    let process = try ChildProcess(
      "/usr/bin/env",
      ["PATH=\(folder):/usr/bin:/bin", ChildProcess.program("strata-browse"), library.path, "--open"])
    let address = try #require(process.readLine())
    // The second line comes before the browser is opened: the note is there by the time there is one.
    _ = process.readLine()
    while !FileManager.default.fileExists(atPath: note) { usleep(5_000) }
    var text = ""
    while text.isEmpty { text = try String(contentsOfFile: note, encoding: .utf8) }
    #expect(text == address + "\n")
  }

  #if os(Linux)
    @Test func onlyThisComputerIsListenedTo() throws {
      let page = try Page(try Library())
      // /proc/net/tcp has the addresses that are listened on, as they lie in memory.
      let lines = try String(contentsOfFile: "/proc/net/tcp", encoding: .utf8).split(separator: "\n")
      let port = String(page.client.port, radix: 16, uppercase: true)
      let end = ":" + String(repeating: "0", count: 4 - port.count) + port
      var places: [String] = []
      for line in lines {
        let fields = line.split(separator: " ").map(String.init)
        if fields.count > 3, fields[3] == "0A", fields[1].hasSuffix(end) {
          places.append(String(fields[1].prefix(8)))
        }
      }
      #expect(places == ["0100007F"])
      let six = (try? String(contentsOfFile: "/proc/net/tcp6", encoding: .utf8)) ?? ""
      #expect(!six.split(separator: "\n").contains { $0.contains(":\(port) ") && $0.contains(" 0A ") })
    }
  #endif
}
