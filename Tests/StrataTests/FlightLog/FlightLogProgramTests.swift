import Foundation
import Testing

@testable import FlightLog

/// The built program as a user starts it: exit codes, sentences, and `kill -9` at any moment.
struct FlightLogProgramTests {
  /// The executable beside the test bundle.
  static let program: String = {
    let bundle = URL(fileURLWithPath: ProcessInfo.processInfo.arguments[0])
    var folder = bundle.deletingLastPathComponent()
    // On macOS the bundle's executable lies three folders down.
    while folder.path != "/", !FileManager.default.isExecutableFile(atPath: folder.path + "/flight-log") {
      folder.deleteLastPathComponent()
    }
    return folder.path + "/flight-log"
  }()

  private func run(_ arguments: String...) throws -> Command {
    try Command.run(Self.program, arguments)
  }

  /// Exit code 1 and one sentence on standard error that contains `words`.
  private func expectRefusal(_ result: Command, _ words: String) {
    #expect(result.exitCode == 1)
    #expect(result.errors.split(separator: "\n").count == 1, "\(result.errors)")
    #expect(result.errors.hasPrefix("flight-log: "), "\(result.errors)")
    #expect(result.errors.contains(words), "\(result.errors)")
  }

  @Test func aMissingFolderOrFileIsOneSentence() throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let store = folder.url.appendingPathComponent("a.strata").path
    expectRefusal(try run("--data", folder.url.path + "/none", "--store", store), "There is no folder")
    expectRefusal(try run("--data", folder.url.path, "--store", store), "airlines.csv")
  }

  @Test func aForeignFileInTheStoresPlaceIsOneSentence() throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let file = try folder.write("Dear diary, this is no store at all.\n", to: "a.strata")
    expectRefusal(try run("--store", file.path), file.path)
    #expect(try String(contentsOf: file, encoding: .utf8) == "Dear diary, this is no store at all.\n")
  }

  @Test func aPlaceWhereNothingCanBeWrittenIsOneSentence() throws {
    expectRefusal(try run("--store", "/proc/none/a.strata"), "/proc/none")
  }

  @Test func aDamagedArchiveIsOneSentence() throws {
    let data = try TableReaderTests.makeData([:])
    defer { data.remove() }
    try FileManager.default.removeItem(at: data.url.appendingPathComponent("flights.csv"))
    try data.write("no archive", to: "flights.csv.gz")
    expectRefusal(
      try run("--data", data.url.path, "--store", data.url.path + "/a.strata"), "cannot be unpacked")
  }

  @Test func aCutStoreIsOneSentenceAndStaysAsItIs() throws {
    let data = try TableReaderTests.makeData([:])
    defer { data.remove() }
    let store = data.url.appendingPathComponent("a.strata")
    #expect(try run("--data", data.url.path, "--store", store.path).exitCode == 0)
    let half = try Data(contentsOf: store).prefix(40_000)
    try half.write(to: store)
    expectRefusal(try run("--data", data.url.path, "--store", store.path), "cut off")
    #expect(try Data(contentsOf: store) == half)
  }

  @Test func aDamagedLineIsReportedWithItsNumberAndLeftOut() throws {
    let data = try TableReaderTests.makeData(["airlines": "carrier,name\nUA,United\nAA\nDL,Delta\n"])
    defer { data.remove() }
    let result = try run("--data", data.url.path, "--store", data.url.path + "/a.strata")
    #expect(result.exitCode == 0, "\(result.errors)")
    #expect(
      result.errors
        == "airlines.csv, line 3: it has 1 field instead of 2; the line is left out\n")
  }

  @Test func theShippedDataIsImportedQueriedAndChecked() throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let result = try run("--store", folder.url.appendingPathComponent("a.strata").path)
    #expect(result.exitCode == 0, "\(result.errors)")
    let words = [
      "checks agree with the CSV files",
      "4: BQN (68 flights), PSE (22 flights), SJU (374 flights), STT (52 flights)",
      "plane is unknown: 3,261", "N737MQ", "is refused: Airline.flights is not empty",
      "takes 5,000 hours of weather with it",
    ]
    for words in words { #expect(result.output.contains(words), "\(result.output)") }
  }

  /// The disk takes no more at several moments, here by a limit on file sizes; given room, the next run continues.
  @Test(arguments: [100, 400, 1_000, 2_400])
  func aDiskThatIsFullIsOneSentence(blocks: Int) throws {
    let data = try ShortData.make()
    defer { data.remove() }
    let store = data.url.appendingPathComponent("a.strata").path
    // The shell counts blocks of 512 bytes or of 1024. Without the trap the signal would end the program first. The thread sanitizer
    // maps a file of 512 KiB in TMPDIR as it starts, when there is such a folder.
    let limited =
      "trap '' XFSZ; export TMPDIR=/nowhere; ulimit -f \(blocks); exec \"$0\" --data \"$1\" --store \"$2\""
    expectRefusal(try Command.run("/bin/sh", ["-c", limited, Self.program, data.url.path, store]), "size")
    let roomy = try run("--data", data.url.path, "--store", store)
    #expect(roomy.exitCode == 0, "\(roomy.errors)")
    #expect(roomy.output.contains("checks agree with the CSV files"))
  }

  /// Two programs import into and edit one store: either may have to give up; then the store is right.
  @Test func twoAtOnceDoNoHarm() async throws {
    let data = try ShortData.make()
    defer { data.remove() }
    let store = data.url.appendingPathComponent("a.strata").path
    async let first = runElsewhere("--data", data.url.path, "--store", store)
    async let second = runElsewhere("--data", data.url.path, "--store", store)
    for result in [try await first, try await second] where result.exitCode != 0 {
      #expect(result.exitCode == 1)
      #expect(result.errors.contains("flight-log: "), "\(result.errors)")
    }
    let last = try run("--data", data.url.path, "--store", store)
    #expect(last.exitCode == 0, "\(last.errors)")
    #expect(last.output.contains("checks agree with the CSV files"), "\(last.output)")
  }

  private func runElsewhere(_ arguments: String...) async throws -> Command {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(with: Result { try Command.run(Self.program, arguments) })
      }
    }
  }

  /// Killed at moments spread over the whole run, and once after its first commits; then one run is not disturbed and must agree with
  /// the files.
  @Test func killedAtAnyMomentTheNextRunGoesOn() throws {
    let data = try ShortData.make()
    defer { data.remove() }
    let store = data.url.appendingPathComponent("a.strata").path
    for milliseconds in [30, 100, 200, 350, 500, 700, 1_000, 1_400] {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: Self.program)
      process.arguments = ["--data", data.url.path, "--store", store]
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      try process.run()
      Thread.sleep(forTimeInterval: Double(milliseconds) / 1000)
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
    try killOnceItHasSaved("--data", data.url.path, "--store", store)
    let last = try run("--data", data.url.path, "--store", store)
    #expect(last.exitCode == 0, "\(last.errors)")
    #expect(last.output.contains("Found"), "\(last.output)")
    #expect(last.output.contains("checks agree with the CSV files"), "\(last.output)")
  }

  /// Runs the program until it says that the main context counts what has been imported, on however slow a machine, and kills it then.
  private func killOnceItHasSaved(_ arguments: String...) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: Self.program)
    process.arguments = arguments
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    var said = ""
    while !said.contains("the main context counts") {
      let more = output.fileHandleForReading.availableData
      if more.isEmpty { break }
      said += String(decoding: more, as: UTF8.self)
    }
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }
}
