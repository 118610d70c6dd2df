import Foundation
import Testing

/// `Scripts/setup` on machines that lack this or that: PATH holds only what the test puts there.
struct SetupTests {
  /// A machine: the ordinary commands the script itself calls, and whatever else a test adds.
  private struct Machine {
    let folder: TemporaryFolder

    init() throws {
      folder = try TemporaryFolder()
      for tool in ["sed", "awk", "head", "tr", "xargs", "mktemp", "rm", "cat", "env", "sh", "echo"] {
        let places = ["/usr/bin/\(tool)", "/bin/\(tool)"]
        let real = try #require(places.first(where: FileManager.default.fileExists(atPath:)))
        try FileManager.default.createSymbolicLink(
          atPath: folder.url.appendingPathComponent(tool).path, withDestinationPath: real)
      }
    }

    func add(_ name: String, _ body: String) throws {
      try folder.write("#!/bin/sh\n\(body)\n", to: name, isExecutable: true)
    }

    func addSwift(_ version: String = "6.1") throws {
      try add("swift", "echo 'Swift version \(version) (swift-\(version)-RELEASE)'")
    }

    func setup(_ arguments: String...) throws -> Command {
      let script = repository.appendingPathComponent("Scripts/setup").path
      return try Command.run(
        "/bin/sh", [script] + arguments,
        environment: ["PATH": folder.url.path, "PG_BIN": folder.url.path])
    }
  }

  @Test func isSilentWhenAllIsInPlace() throws {
    let machine = try Machine()
    defer { machine.folder.remove() }
    try machine.addSwift()
    for tool in ["pkg-config", "gzip"] { try machine.add(tool, "exit 0") }
    let result = try machine.setup()
    #expect(result.exitCode == 0)
    #expect(result.output + result.errors == "")
  }

  /// liblmdb 1.0 has another file format.
  @Test func anotherLMDBIsRefusedByName() throws {
    let machine = try Machine()
    defer { machine.folder.remove() }
    try machine.addSwift()
    try machine.add("gzip", "exit 0")
    try machine.add("pkg-config", #"case "$*" in *modversion*) echo 1.0.0 ;; esac"#)
    let result = try machine.setup()
    #expect(result.exitCode == 1)
    #expect(result.errors.split(separator: "\n").count == 1)
    #expect(result.errors.contains("0.9") && result.errors.contains("1.0.0"), "\(result.errors)")
    try machine.add("pkg-config", #"case "$*" in *modversion*) echo 0.9.33 ;; esac"#)
    #expect(try machine.setup().exitCode == 0)
  }

  @Test(arguments: [nil, "5.10", "6.0.3"])
  func aMissingOrOldToolchainGivesOneSentence(version: String?) throws {
    let machine = try Machine()
    defer { machine.folder.remove() }
    if let version { try machine.addSwift(version) }
    let result = try machine.setup()
    #expect(result.exitCode == 1)
    #expect(result.errors.split(separator: "\n").count == 1)
    #expect(result.errors.contains("6.1 or newer"))
  }

  /// Names what `setup` passes on to apt-get, and lets it find lmdb from then on.
  private let workingApt = """
    here=${0%/*}; echo "$*" >>"$here/apt-calls"
    case "$*" in *install*) for tool in pkg-config gzip; do echo 'exit 0' >"$here/$tool"; /bin/chmod +x "$here/$tool"; done ;; esac
    """

  @Test(arguments: [true, false])
  func rootInstallsWhatIsMissing(listsAreThere: Bool) throws {
    let machine = try Machine()
    defer { machine.folder.remove() }
    try machine.addSwift()
    try machine.add("id", "echo 0")
    try machine.add("apt-cache", "exit \(listsAreThere ? 0 : 100)")
    try machine.add("apt-get", workingApt)
    let result = try machine.setup()
    #expect(result.exitCode == 0, "\(result.errors)")
    let calls = try String(
      contentsOf: machine.folder.url.appendingPathComponent("apt-calls"), encoding: .utf8)
    #expect(calls.contains("install -y pkg-config liblmdb-dev gzip"))
    #expect(calls.contains("update") == !listsAreThere)
  }

  /// What only StrataPostgres and its tests need is installed for those who build everything, and for nobody else.
  @Test func libpqIsForTests() throws {
    let machine = try Machine()
    defer { machine.folder.remove() }
    try machine.addSwift()
    for tool in ["gzip", "initdb", "postgres"] { try machine.add(tool, "exit 0") }
    try machine.add("pkg-config", #"case "$*" in *libpq*) exit 1 ;; esac"#)
    #expect(try machine.setup().exitCode == 0)
    try machine.add("id", "echo 0")
    try machine.add("apt-cache", "exit 0")
    try machine.add("apt-get", workingApt)
    let result = try machine.setup("tests")
    #expect(result.exitCode == 0, "\(result.errors)")
    let calls = try String(
      contentsOf: machine.folder.url.appendingPathComponent("apt-calls"), encoding: .utf8)
    #expect(calls.contains("install -y libpq-dev") && !calls.contains("liblmdb-dev"), "\(calls)")
    try machine.add("pkg-config", #"case "$*" in *libpq*) exit 1 ;; esac"#)
    try machine.add("apt-get", "exit 0")
    let vain = try machine.setup("tests")
    #expect(vain.exitCode == 1)
    #expect(vain.errors.contains("still does not find libpq"), "\(vain.errors)")
  }

  /// libsqlite3 is for those who build the command line or everything.
  @Test func libsqlite3IsForTheTool() throws {
    let machine = try Machine()
    defer { machine.folder.remove() }
    try machine.addSwift()
    try machine.add("gzip", "exit 0")
    try machine.add("pkg-config", #"case "$*" in *sqlite3*) exit 1 ;; esac"#)
    #expect(try machine.setup().exitCode == 0)
    try machine.add("id", "echo 0")
    try machine.add("apt-cache", "exit 0")
    try machine.add("apt-get", workingApt)
    let result = try machine.setup("tool")
    #expect(result.exitCode == 0, "\(result.errors)")
    let calls = try String(
      contentsOf: machine.folder.url.appendingPathComponent("apt-calls"), encoding: .utf8)
    #expect(calls.contains("install -y libsqlite3-dev") && !calls.contains("libpq-dev"), "\(calls)")
  }

  @Test func withoutTheRightToInstallPrintsTheCommand() throws {
    let machine = try Machine()
    defer { machine.folder.remove() }
    try machine.addSwift()
    try machine.add("pkg-config", "exit 1")
    try machine.add("gzip", "exit 0")
    try machine.add("id", "echo 1000")
    try machine.add("sudo", "exit 1")
    try machine.add("apt-get", "exit 1")
    let result = try machine.setup()
    #expect(result.exitCode == 1)
    #expect(result.errors.split(separator: "\n").count == 1)
    #expect(result.errors.contains("type: sudo apt-get update && sudo apt-get install -y liblmdb-dev"))
  }

  @Test func brewInstallsUnderItsOwnNames() throws {
    let machine = try Machine()
    defer { machine.folder.remove() }
    try machine.addSwift()
    try machine.add("gzip", "exit 0")
    try machine.add("brew", workingApt)
    let result = try machine.setup()
    #expect(result.exitCode == 0, "\(result.errors)")
    let calls = try String(
      contentsOf: machine.folder.url.appendingPathComponent("apt-calls"), encoding: .utf8)
    #expect(calls.contains("install pkgconf lmdb"))
  }

  @Test func aFailedInstallationShowsItsOutputAndTheCommand() throws {
    let machine = try Machine()
    defer { machine.folder.remove() }
    try machine.addSwift()
    try machine.add("id", "echo 0")
    try machine.add("apt-cache", "exit 0")
    try machine.add("apt-get", "echo 'no space left'; exit 100")
    let result = try machine.setup()
    #expect(result.exitCode == 1)
    #expect(result.errors.contains("no space left"))
    #expect(result.errors.contains("type: sudo apt-get update"))
  }
}
