import Foundation
import StrataCore
import Testing
import TortureKit

@testable import StrataAppleSQLite

/// What packed archives of unknown origin say, and that none of them ends the process.
@Suite struct ArchiveTests {
  /// What gzip makes of data, without its header and trailer: DEFLATE as zlib writes it.
  private func packed(_ bytes: [UInt8], _ folder: ScratchFolder, level: Int) throws -> Data {
    try Data(bytes).write(to: folder.url("plain"))
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["gzip", "-n", "-\(level)", "-c", folder("plain")]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return Data(data.dropFirst(10).dropLast(8))
  }

  @Test(arguments: 1...12)
  func inflateReadsWhatGzipHasPacked(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    let folder = try ScratchFolder()
    // Text with repetitions, noise, long runs.
    var bytes: [UInt8] = []
    while bytes.count < 40_000 * (seed % 4) + seed {
      switch random.below(3) {
      case 0: bytes += Array("NSManagedObjectModel \(random.below(30)) ".utf8)
      case 1: bytes += (0..<random.below(300)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      default: bytes += [UInt8](repeating: UInt8(random.below(4)), count: random.below(2_000))
      }
    }
    let data = try packed(bytes, folder, level: 1 + seed % 9)
    #expect(try Inflate.data(data) == bytes)
    #expect(throws: Inflate.Fault.self) { try Inflate.data(data, limit: bytes.count - 1) }
    if data.count > 3 { #expect(throws: Inflate.Fault.self) { try Inflate.data(data.dropLast(3)) } }
    // Whatever changes, it ends with data or a fault.
    for _ in 0..<60 {
      var damaged = data
      if damaged.isEmpty { break }
      damaged[damaged.startIndex + random.below(damaged.count)] ^= UInt8(1 << random.below(8))
      _ = try? Inflate.data(damaged, limit: 1 << 20)
    }
  }

  @Test func inflateRefusesWhatIsNone() {
    for bytes: [UInt8] in [
      [], [7], [0xFF], [1, 5, 0, 0, 0, 1], [3, 1], [5, 0xFF, 0xFF, 0xFF, 0xFF], [0, 0, 0, 0xFF, 0xFF],
    ] {
      #expect(throws: Inflate.Fault.self) { try Inflate.data(Data(bytes)) }
    }
  }

  @Test func propertyListsKeepTheirValues() throws {
    let value = PropertyListValue.dictionary([
      "text": .string("é 日本"), "ascii": .string(String(repeating: "x", count: 300)), "no": .boolean(false),
      "numbers": .array([.integer(-1), .integer(.max), .real(-0.5), .date(1.25)]),
      "data": .data(Data([1, 2, 3])), "reference": .reference(7),
    ])
    #expect(try BinaryPropertyList.value(PropertyListWriter.bytes(value)) == value)
    // And what Foundation writes.
    let list: [String: Any] = [
      "a": [1, 2.5, true, "x", Data([9]), Date(timeIntervalSinceReferenceDate: 5)] as [Any]
    ]
    let data = try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
    #expect(
      try BinaryPropertyList.value(Array(data))
        == .dictionary([
          "a": .array([.integer(1), .real(2.5), .boolean(true), .string("x"), .data(Data([9])), .date(5)])
        ]))
  }

  @Test func listsThatContainThemselvesOrMultiplyAreRefused() {
    func list(_ body: [UInt8], _ offsets: [UInt8]) -> [UInt8] {
      var bytes = Array("bplist00".utf8)
      bytes.append(contentsOf: body)
      let table = UInt8(bytes.count)
      bytes.append(contentsOf: offsets)
      bytes.append(contentsOf: [0, 0, 0, 0, 0, 0, 1, 1])
      for number in [UInt8(offsets.count), 0, table] {
        bytes.append(contentsOf: [UInt8](repeating: 0, count: 7))
        bytes.append(number)
      }
      return bytes
    }
    #expect((try? BinaryPropertyList.value(list([0x10, 5], [8]))) == .integer(5))
    // An array whose only element is itself.
    #expect(throws: BinaryPropertyList.Fault.self) { try BinaryPropertyList.value(list([0xA1, 0], [8])) }
    // Each array has the next one twice: two to the fortieth values.
    var body: [UInt8] = []
    var offsets: [UInt8] = []
    for level in 0..<40 {
      offsets.append(UInt8(8 + body.count))
      body.append(contentsOf: level == 39 ? [0x10, 1] : [0xA2, UInt8(level + 1), UInt8(level + 1)])
    }
    let bomb = list(body, offsets)
    #expect(throws: BinaryPropertyList.Fault.self) { try BinaryPropertyList.value(bomb, mostValues: 100_000) }
  }

  /// Archives in which bytes were changed, cut off or put in end in a model or an error.
  @Test(arguments: 1...20)
  func damagedArchivesEndInAModelOrAnError(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed) &* 77)
    let model = RandomModel.make(&random)
    let bytes = ModelArchive.bytes(model)
    var (models, errors) = (0, 0)
    for _ in 0..<150 {
      var damaged = bytes
      switch random.below(3) {
      case 0: damaged.removeLast(random.below(damaged.count))
      case 1:
        for _ in 0..<(1 + random.below(4)) {
          damaged[random.below(damaged.count)] = UInt8(truncatingIfNeeded: random.next())
        }
      default:
        // References exchanged: cycles, wrong classes.
        let (a, b) = (random.below(damaged.count - 4), random.below(damaged.count - 4))
        for place in 0..<4 { damaged.swapAt(a + place, b + place) }
      }
      do {
        let read = try ArchivedModel(packed: ModelArchive.packed(damaged), columns: [:])
        // A model that contradicts itself is refused in sentences.
        _ = try? read.model.schema()
        models += 1
      } catch let error as AppleStoreError {
        #expect(error.kind == .noModel && error.description.contains(".xcdatamodeld"))
        errors += 1
      }
    }
    #expect(models + errors == 150 && errors > 0)
  }

  @Test func whatTheCacheHasNoFormForIsSaid() throws {
    let entity = EntityDescription("Thing")
    let list = AttributeDescription("list", .transformable)
    list.valueTransformerName = "NSKeyedUnarchiveFromData"
    let other = AttributeDescription("other", .transformable)
    other.valueTransformerName = "Colors"
    entity.properties = [list, other]
    let bytes = ModelArchive.bytes(ManagedObjectModel(entities: [entity]))
    let read = try ArchivedModel(packed: ModelArchive.packed(bytes), columns: [:])
    let attributes = try #require(read.model.entitiesByName["Thing"]).attributesByName
    #expect(
      attributes["list"]?.valueTransformerName == nil && attributes["other"]?.valueTransformerName == "Colors"
    )
    #expect(read.remarks.count == 1 && read.remarks[0].contains("Thing.list"))
  }

  @Test func theSumIsThatOfTheStandard() {
    func text(_ data: Data) -> String { data.map { String(format: "%02x", $0) }.joined() }
    #expect(
      text(SHA512.digest(of: Data("abc".utf8)))
        == "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
    )
    // Longer than a block.
    #expect(SHA512.digest(of: Data(count: 300)) != SHA512.digest(of: Data(count: 301)))
  }
}
