import Foundation
import StrataModels

struct Color: Codable, Hashable, Sendable {
  var red: Int
  var green: Int
}

@Composite struct Address: Codable, Hashable, Sendable {
  var street: String
  var number: Int16?
  var kind = Kind.home
  enum Kind: String, Codable { case home, work }
}

struct Flags: OptionSet, Hashable, Sendable {
  let rawValue: Int32
  static let read = Flags(rawValue: 1)
  static let write = Flags(rawValue: 2)
}

/// Something that no store keeps.
struct Cache: Sendable { var hits = 0 }

@Managed(
  .named("Thing"), .unique("text", "int16"), .index("int32", "int64", name: "byNumbers"),
  .renamed(from: "Item"),
  .hashModifier("2"), .configurations("Main", "All"))
final class Everything: ManagedObject {
  var int8: Int8 = -8
  var int16: Int16 = -16
  var int32: Int32 = -32
  var int64: Int64 = -64
  var int = 7
  var uint8: UInt8 = 8
  var uint16: UInt16 = 16
  var uint32: UInt32 = 32
  var double = 1.5
  var float: Float = 2.5
  var decimal: Decimal = 3.25
  var flag = true
  var text = "text"
  var date = Date(timeIntervalSinceReferenceDate: 1)
  var data = Data([1, 2, 3])
  var uuid: UUID = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
  var url: URL?
  var rating = Rating.fine
  var flags: Flags = [.read]
  var color = Color(red: 1, green: 2)
  var address: Address
  var former: Address?
  var numbers: [Int] = [1, 2]
  var ratios: [Double]?
  var lookup: [String: Int] = [:]

  var maybeInt8: Int8?
  var maybeInt16: Int16?
  var maybeInt32: Int32?
  var maybeInt64: Int64?
  var maybeInt: Int?
  var maybeDouble: Double?
  var maybeFloat: Float?
  var maybeDecimal: Decimal?
  var maybeFlag: Bool?
  var maybeText: String?
  var maybeDate: Date?
  var maybeData: Data?
  var maybeUUID: UUID?
  var maybeRating: Rating?
  var maybeColor: Color?

  @Attribute(.optional) var bare: Int
  @Attribute(.required) var needed: Int? = 1
  @Attribute(.externalStorage, .preservedInHistory) var picture: Data?
  @Attribute(.renamed(from: "oldName"), .hashModifier("x")) var renamed = ""
  @Attribute(.minimum(1), .maximum(12, warning: "There are twelve months."), .indexedDescending) var month:
    Int16 = 1
  @Attribute(.pattern("[a-z]+"), .maximumLength(5)) var code: String?
  @Transient var cache = Cache()
  @Transient var count: Int?
  @Ignored var scratch = "kept by nobody"
  @Relationship(.deny, .required, .renamed(from: "boss")) var owner: Everything?
  @Relationship(.minimum(1), .maximum(3), inverse: \Everything.owner) var owned: Set<Everything>
  @Fetched(
    FetchRequest<ManagedObjectID>(entityName: "Thing", predicate: Attribute("flag") == true)) var flagged:
    [Everything]

  var doubled: Int { int * 2 }
  static let limit = 3
}
