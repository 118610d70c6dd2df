import Foundation
import Strata

/// A day's surf, as the journal holds it.
final class Entry: ManagedObject {
  enum Slot: Int, CodingKey, CaseIterable {
    case day, location, height, rating, notes, photo, mood, scratch
  }

  override class var declaredSlots: [String]? { Slot.allCases.map(\.stringValue) }

  var day: Date? {
    get { readDate(slot: Slot.day.rawValue) }
    set { write(newValue, slot: Slot.day.rawValue) }
  }
  var location: String? {
    get { readString(slot: Slot.location.rawValue) }
    set { write(newValue, slot: Slot.location.rawValue) }
  }
  var height: Double {
    get { readDouble(slot: Slot.height.rawValue) }
    set { write(newValue, slot: Slot.height.rawValue) }
  }
  var rating: Int16 {
    get { readInt16(slot: Slot.rating.rawValue) }
    set { write(newValue, slot: Slot.rating.rawValue) }
  }
  var notes: String? {
    get { readString(slot: Slot.notes.rawValue) }
    set { write(newValue, slot: Slot.notes.rawValue) }
  }
  var photo: Data? {
    get { readData(slot: Slot.photo.rawValue) }
    set { write(newValue, slot: Slot.photo.rawValue) }
  }
  /// Transient.
  var mood: String? {
    get { readString(slot: Slot.mood.rawValue) }
    set { write(newValue, slot: Slot.mood.rawValue) }
  }

  /// A new entry at `location`, in one line.
  @discardableResult
  static func make(
    _ location: String?, rating: Int16 = 3, height: Double = 0, in context: ManagedObjectContext
  ) -> Entry {
    let entry = Entry(context: context)
    entry.location = location
    entry.rating = rating
    entry.height = height
    return entry
  }
}

/// A surfer, known by e-mail address.
final class Surfer: ManagedObject {
  override class var declaredSlots: [String]? { ["email", "name", "level"] }

  var email: String? {
    get { readString(slot: 0) }
    set { write(newValue, slot: 0) }
  }
  var name: String? {
    get { readString(slot: 1) }
    set { write(newValue, slot: 1) }
  }
  var level: Int32 {
    get { readInt32(slot: 2) }
    set { write(newValue, slot: 2) }
  }

  @discardableResult
  static func make(_ email: String, name: String = "?", in context: ManagedObjectContext) -> Surfer {
    let surfer = Surfer(context: context)
    surfer.email = email
    surfer.name = name
    return surfer
  }
}

/// A place with waves. Abstract.
class Spot: ManagedObject {
  override class var declaredSlots: [String]? { ["name", "latitude"] }

  var name: String? {
    get { readString(slot: 0) }
    set { write(newValue, slot: 0) }
  }
  var latitude: Double {
    get { readDouble(slot: 1) }
    set { write(newValue, slot: 1) }
  }

  convenience init(_ name: String, in context: ManagedObjectContext) {
    self.init(context: context)
    self.name = name
  }
}

class Beach: Spot {
  override class var declaredSlots: [String]? { ["name", "latitude", "sand"] }

  var sand: String? {
    get { readString(slot: 2) }
    set { write(newValue, slot: 2) }
  }
}

final class HiddenBeach: Beach {
  override class var declaredSlots: [String]? { ["name", "latitude", "sand", "secret"] }

  var secret: String? {
    get { readString(slot: 3) }
    set { write(newValue, slot: 3) }
  }
}

final class Reef: Spot {
  override class var declaredSlots: [String]? { ["name", "latitude", "depth"] }

  var depth: Double {
    get { readDouble(slot: 2) }
    set { write(newValue, slot: 2) }
  }
}

/// The class of two entities.
final class Twin: ManagedObject {
  override class var declaredSlots: [String]? { ["name"] }

  var name: String? {
    get { readString(slot: 0) }
    set { write(newValue, slot: 0) }
  }
}

/// Every attribute type through its typed accessors.
final class Sample: ManagedObject {
  enum Slot: Int, CodingKey, CaseIterable {
    case int16, int32, int64, decimal, double, float, string, boolean, date, data, uuid, uri
  }

  override class var declaredSlots: [String]? { Slot.allCases.map(\.stringValue) }

  var int16: Int16 {
    get { readInt16(slot: Slot.int16.rawValue) }
    set { write(newValue, slot: Slot.int16.rawValue) }
  }
  var int32: Int32 {
    get { readInt32(slot: Slot.int32.rawValue) }
    set { write(newValue, slot: Slot.int32.rawValue) }
  }
  var int64: Int64 {
    get { readInt64(slot: Slot.int64.rawValue) }
    set { write(newValue, slot: Slot.int64.rawValue) }
  }
  var decimal: Decimal? {
    get { readDecimal(slot: Slot.decimal.rawValue) }
    set { write(newValue, slot: Slot.decimal.rawValue) }
  }
  var double: Double {
    get { readDouble(slot: Slot.double.rawValue) }
    set { write(newValue, slot: Slot.double.rawValue) }
  }
  var float: Float {
    get { readFloat(slot: Slot.float.rawValue) }
    set { write(newValue, slot: Slot.float.rawValue) }
  }
  var string: String? {
    get { readString(slot: Slot.string.rawValue) }
    set { write(newValue, slot: Slot.string.rawValue) }
  }
  var boolean: Bool {
    get { readBool(slot: Slot.boolean.rawValue) }
    set { write(newValue, slot: Slot.boolean.rawValue) }
  }
  var date: Date? {
    get { readDate(slot: Slot.date.rawValue) }
    set { write(newValue, slot: Slot.date.rawValue) }
  }
  var data: Data? {
    get { readData(slot: Slot.data.rawValue) }
    set { write(newValue, slot: Slot.data.rawValue) }
  }
  var uuid: UUID? {
    get { readUUID(slot: Slot.uuid.rawValue) }
    set { write(newValue, slot: Slot.uuid.rawValue) }
  }
  var uri: URL? {
    get { readURL(slot: Slot.uri.rawValue) }
    set { write(newValue, slot: Slot.uri.rawValue) }
  }
  /// The same attributes, with nil distinguished from zero.
  var optionalInt16: Int16? {
    get { readOptionalInt16(slot: Slot.int16.rawValue) }
    set { write(newValue, slot: Slot.int16.rawValue) }
  }
  var optionalInt32: Int32? {
    get { readOptionalInt32(slot: Slot.int32.rawValue) }
    set { write(newValue, slot: Slot.int32.rawValue) }
  }
  var optionalInt64: Int64? {
    get { readOptionalInt64(slot: Slot.int64.rawValue) }
    set { write(newValue, slot: Slot.int64.rawValue) }
  }
  var optionalDouble: Double? {
    get { readOptionalDouble(slot: Slot.double.rawValue) }
    set { write(newValue, slot: Slot.double.rawValue) }
  }
  var optionalFloat: Float? {
    get { readOptionalFloat(slot: Slot.float.rawValue) }
    set { write(newValue, slot: Slot.float.rawValue) }
  }
  var optionalBoolean: Bool? {
    get { readOptionalBool(slot: Slot.boolean.rawValue) }
    set { write(newValue, slot: Slot.boolean.rawValue) }
  }
}
