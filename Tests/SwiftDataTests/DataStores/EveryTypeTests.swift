import SwiftData
import Testing

/// An attribute of each kind that the macro takes, with and without nil; those that `Everything` does not have.
@Model
final class Assortment {
  enum Byte: UInt8, Codable { case low, high = 255 }
  enum Short: Int16, Codable { case low = -300, high = 300 }
  enum Wide: UInt64, Codable {
    case low
    case high = 18_446_744_073_709_551_615
  }
  enum Real: Double, Codable { case half = 0.5, third = 1.5 }
  struct Code: RawRepresentable, Codable, Equatable { var rawValue: UInt32 }
  struct Days: OptionSet, Codable { var rawValue: UInt16 }
  struct Pack: Codable, Equatable {
    var count: UInt8
    var byte: Byte?
    var ratio: Float
    var price: Decimal
    var serial: UInt64
  }

  var byte = Byte.low
  var short = Short.low
  var wide = Wide.low
  var real = Real.half
  var code = Code(rawValue: 0)
  var days = Days(rawValue: 0)
  var pack = Pack(count: 0, byte: nil, ratio: 0, price: 0, serial: 0)
  var metres: CGFloat = 0
  var bytes: [UInt8] = []
  var cases: [Byte] = []
  var numbers: Set<Int16> = []
  var named: [String: UInt8] = [:]
  @Attribute(.codable) var wholeByte = Byte.low
  @Attribute(.codable) var wholeNumber: UInt8 = 0
  @Attribute(.codable) var wholePack = Pack(count: 0, byte: nil, ratio: 0, price: 0, serial: 0)
  var int8: Int8?
  var int16: Int16?
  var int32: Int32?
  var uint: UInt?
  var uint8: UInt8?
  var uint16: UInt16?
  var uint32: UInt32?
  var uint64: UInt64?
  var float: Float?
  var optionalMetres: CGFloat?
  var decimal: Decimal?
  var bool: Bool?
  var url: URL?
  var data: Data?
  var optionalByte: Byte?
  var optionalShort: Short?
  var optionalWide: Wide?
  var optionalReal: Real?
  var optionalCode: Code?
  var optionalDays: Days?
  var optionalPack: Pack?
  var optionalBytes: [UInt8]?
  init() {}

  /// Gives every attribute another value, the largest where there is one.
  func fill() {
    let full = Pack(
      count: .max, byte: .high, ratio: 0.1, price: Decimal(string: "0.1") ?? 0, serial: .max)
    (byte, short, wide, real) = (.high, .high, .high, .third)
    (code, days, pack, metres) = (Code(rawValue: .max), Days(rawValue: .max), full, 0.1)
    (bytes, cases, numbers, named) = ([0, 255], [.high, .low], [.min], ["k": 255])
    (wholeByte, wholeNumber, wholePack) = (.high, .max, full)
    (int8, int16, int32) = (.min, .min, .min)
    (uint, uint8, uint16, uint32, uint64) = (.max, .max, .max, .max, .max)
    (float, optionalMetres, decimal) = (0.1, 0.1, Decimal(string: "12345678901234567890.123456789"))
    (bool, url, data) = (true, URL(string: "https://example.org/a?b"), Data([1, 2]))
    (optionalByte, optionalShort, optionalWide, optionalReal) = (.high, .low, .high, .third)
    (optionalCode, optionalDays, optionalPack) = (Code(rawValue: .max), [Days(rawValue: 2)], full)
    optionalBytes = [255]
  }

  /// Every value as text. The list is that of the schema: an attribute that is missing here fails the test.
  var texts: [String: String] {
    [
      "byte": "\(byte)", "short": "\(short)", "wide": "\(wide)", "real": "\(real)", "code": "\(code)",
      "days": "\(days)", "pack": "\(pack)", "metres": "\(metres)", "bytes": "\(bytes)", "cases": "\(cases)",
      "numbers": "\(numbers)", "named": "\(named)", "wholeByte": "\(wholeByte)",
      "wholeNumber": "\(wholeNumber)", "wholePack": "\(wholePack)", "int8": "\(int8 as Any)",
      "int16": "\(int16 as Any)", "int32": "\(int32 as Any)", "uint": "\(uint as Any)",
      "uint8": "\(uint8 as Any)", "uint16": "\(uint16 as Any)", "uint32": "\(uint32 as Any)",
      "uint64": "\(uint64 as Any)", "float": "\(float as Any)", "optionalMetres": "\(optionalMetres as Any)",
      "decimal": "\(decimal as Any)", "bool": "\(bool as Any)", "url": "\(url as Any)",
      "data": "\(data.map(Array.init) as Any)", "optionalByte": "\(optionalByte as Any)",
      "optionalShort": "\(optionalShort as Any)", "optionalWide": "\(optionalWide as Any)",
      "optionalReal": "\(optionalReal as Any)", "optionalCode": "\(optionalCode as Any)",
      "optionalDays": "\(optionalDays as Any)", "optionalPack": "\(optionalPack as Any)",
      "optionalBytes": "\(optionalBytes as Any)",
    ]
  }
}

@Suite("Snapshots of every type of attribute")
struct EveryTypeTests {
  private let folder: Folder
  private let configuration: ModelConfiguration

  init() throws {
    folder = try Folder()
    configuration = ModelConfiguration(schema: Schema([Assortment.self]), url: folder.file())
  }

  private func stored() throws -> [[String: String]] {
    let context = ModelContext(try ModelContainer(for: Assortment.self, configurations: configuration))
    return try context.fetch(FetchDescriptor<Assortment>()).map(\.texts)
  }

  @Test("DefaultStore gives, encodes, decodes and takes each value as it is", arguments: [false, true])
  func defaultStore(isFilled: Bool) throws {
    let wanted: [String: String]
    let state: EditingState
    do {
      let context = ModelContext(try ModelContainer(for: Assortment.self, configurations: configuration))
      let model = Assortment()
      if isFilled { model.fill() }
      wanted = model.texts
      context.insert(model)
      try context.save()
      state = context.editingState
    }
    let entity = try #require(configuration.schema?.entitiesByName["Assortment"])
    #expect(Set(entity.attributes.map(\.name)) == Set(wanted.keys))
    #expect(try stored() == [wanted])
    let store = try DefaultStore(configuration, migrationPlan: nil)
    let found = try store.fetch(
      DataStoreFetchRequest<Assortment>(editingState: state, descriptor: FetchDescriptor()))
    let snapshot = try #require(found.fetchedSnapshots.first)
    let json = try JSONDecoder().decode(DefaultSnapshot.self, from: JSONEncoder().encode(snapshot))
    let list = try PropertyListDecoder().decode(
      DefaultSnapshot.self, from: PropertyListEncoder().encode(snapshot))
    let new = json.copy(persistentIdentifier: Assortment().persistentModelID)
    _ = try store.save(
      DataStoreSaveChangesRequest(editingState: state, inserted: [new], updated: [list], deleted: []))
    #expect(try stored() == [wanted, wanted])
  }

  @Test("A store of the program's own that keeps JSON gives each value back as it is")
  func jsonFile() throws {
    let file = JSONFileConfiguration(fileURL: folder.file("Assortment.json"))
    let wanted: [[String: String]]
    do {
      let context = ModelContext(try ModelContainer(for: Assortment.self, configurations: file))
      let (empty, full) = (Assortment(), Assortment())
      full.fill()
      wanted = [empty.texts, full.texts]
      context.insert(empty)
      context.insert(full)
      try context.save()
      // One the other way round.
      empty.fill()
      try context.save()
    }
    let context = ModelContext(try ModelContainer(for: Assortment.self, configurations: file))
    let models = try context.fetch(FetchDescriptor<Assortment>())
    #expect(models.map(\.texts) == [wanted[1], wanted[1]])
    let byte = UInt8.max
    let found = try context.fetch(
      FetchDescriptor<Assortment>(predicate: #Predicate { $0.uint8 == byte }))
    #expect(found.count == 2)
    for model in models {
      model.uint8 = nil
      model.optionalPack = nil
      model.optionalByte = nil
    }
    try context.save()
    let again = ModelContext(try ModelContainer(for: Assortment.self, configurations: file))
    for model in try again.fetch(FetchDescriptor<Assortment>()) {
      #expect(model.uint8 == nil && model.optionalPack == nil && model.optionalByte == nil)
      #expect(model.uint64 == .max && model.pack.serial == .max)
    }
  }
}
