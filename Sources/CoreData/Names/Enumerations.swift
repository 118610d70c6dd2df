import StrataCore

// Enumerations with Apple's cases, so that a switch over them is exhaustive without a `default`. Each has the numbers of one of StrataCore's.

/// An enumeration that stands for one of StrataCore's, number by number.
protocol SpelledEnumeration: RawRepresentable where RawValue == UInt {
  associatedtype Core
  static func number(of core: Core) -> UInt
  static func core(_ number: UInt) -> Core?
}

extension SpelledEnumeration where Core: RawRepresentable, Core.RawValue == UInt {
  static func number(of core: Core) -> UInt { core.rawValue }
  static func core(_ number: UInt) -> Core? { Core(rawValue: number) }
}

extension SpelledEnumeration {
  /// What is called so by Apple's names.
  init(_ core: Core) {
    // Each case has its counterpart: EnumerationTests goes over all of them.
    guard let spelled = Self(rawValue: Self.number(of: core)) else {
      stop("\(Self.self) has no case for \(core).")
    }
    self = spelled
  }

  /// What is called so by StrataCore's names.
  var core: Core {
    guard let core = Self.core(rawValue) else { stop("There is nothing that \(Self.self) calls \(self).") }
    return core
  }
}

/// The type of an attribute.
public enum NSAttributeType: UInt, Sendable, CaseIterable, SpelledEnumeration {
  typealias Core = StrataCore.AttributeType

  /// No type: for transient attributes.
  case undefinedAttributeType = 0
  /// 16 bits with sign.
  case integer16AttributeType = 100
  /// 32 bits with sign.
  case integer32AttributeType = 200
  /// 64 bits with sign.
  case integer64AttributeType = 300
  /// `NSDecimalNumber`.
  case decimalAttributeType = 400
  /// `Double`.
  case doubleAttributeType = 500
  /// `Float`.
  case floatAttributeType = 600
  /// `String`.
  case stringAttributeType = 700
  /// `Bool`.
  case booleanAttributeType = 800
  /// `Date`.
  case dateAttributeType = 900
  /// `Data`.
  case binaryDataAttributeType = 1000
  /// `UUID`.
  case UUIDAttributeType = 1100
  /// `URL`.
  case URIAttributeType = 1200
  /// An object that a transformer makes bytes of.
  case transformableAttributeType = 1800
  /// The ID of an object.
  case objectIDAttributeType = 2000
  /// Made of attributes.
  case compositeAttributeType = 2100

  static func number(of core: Core) -> UInt { UInt(core.rawValue) }
  static func core(_ number: UInt) -> Core? { Int16(exactly: number).flatMap { Core(rawValue: $0) } }
}

extension NSAttributeDescription {
  /// The type of the values.
  public var attributeType: NSAttributeType {
    get { NSAttributeType(self.StrataCore::attributeType) }
    set { self.StrataCore::attributeType = newValue.core }
  }
}

/// What happens to the objects at a relationship's other end.
public enum NSDeleteRule: UInt, Sendable, CaseIterable, SpelledEnumeration {
  typealias Core = StrataCore.DeleteRule

  /// Nothing: references may be left that lead nowhere.
  case noActionDeleteRule = 0
  /// They lose their reference.
  case nullifyDeleteRule = 1
  /// They are deleted as well.
  case cascadeDeleteRule = 2
  /// There may be none.
  case denyDeleteRule = 3
}

extension NSRelationshipDescription {
  /// What happens to the objects at the other end when an object is deleted.
  public var deleteRule: NSDeleteRule {
    get { NSDeleteRule(self.StrataCore::deleteRule) }
    set { self.StrataCore::deleteRule = newValue.core }
  }
}

/// How a context is confined.
public typealias NSManagedObjectContextConcurrencyType = ManagedObjectContextConcurrencyType

extension NSManagedObjectContextConcurrencyType: SpelledEnumeration {
  typealias Core = StrataCore.ConcurrencyType
}

extension NSManagedObjectContext {
  /// How the context is confined. May be asked for on any thread.
  public var concurrencyType: NSManagedObjectContextConcurrencyType {
    NSManagedObjectContextConcurrencyType(self.StrataCore::concurrencyType)
  }
}

/// What kind of thing a mapping does to an entity.
public enum NSEntityMappingType: UInt, Sendable, CaseIterable, SpelledEnumeration {
  typealias Core = StrataCore.EntityMappingType

  /// Not decided.
  case undefinedEntityMappingType = 0
  /// A custom policy decides.
  case customEntityMappingType = 1
  /// The entity is new.
  case addEntityMappingType = 2
  /// The entity goes.
  case removeEntityMappingType = 3
  /// The objects stay what they are.
  case copyEntityMappingType = 4
  /// The objects change.
  case transformEntityMappingType = 5
}

extension NSEntityMapping {
  /// What happens to the entity.
  public var mappingType: NSEntityMappingType {
    get { NSEntityMappingType(self.StrataCore::mappingType) }
    set { self.StrataCore::mappingType = newValue.core }
  }
}
