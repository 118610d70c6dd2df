import Foundation

/// The identity of a managed object: which store, which entity, which primary key.
///
/// Immutable, Sendable, usable in every context (rule 30); final from birth. 16 bytes without ownership:
/// making, copying and comparing one allocates and counts nothing. Two IDs are equal when they name the same
/// primary key of the same hierarchy in the same store, whatever ``isTemporaryID`` answers.
public struct ManagedObjectID: Sendable {
  /// Primary keys lie below this bound.
  static let primaryKeyLimit: UInt64 = 1 << 48
  @usableFromInline static let temporaryBit: UInt64 = 1 << 63

  /// Tokens are immortal (see `StoreEntityToken`), so the reference is not counted.
  @usableFromInline let unmanagedToken: Unmanaged<StoreEntityToken>
  /// The primary key, and in the top bit whether the ID is temporary.
  @usableFromInline let bits: UInt64

  /// An ID of the token's store and entity.
  @inlinable init(token: StoreEntityToken, primaryKey: UInt64, isTemporary: Bool = false) {
    precondition(primaryKey < 1 << 48, "primary keys lie below 2^48")
    unmanagedToken = Unmanaged.passUnretained(token)
    bits = isTemporary ? primaryKey | Self.temporaryBit : primaryKey
  }

  /// Which store and entity.
  @inlinable var token: StoreEntityToken { unmanagedToken.takeUnretainedValue() }
  /// The primary key, unique in the store's hierarchy and never reused.
  @inlinable var primaryKey: UInt64 { bits & ~Self.temporaryBit }
  /// Whether the object was never saved and its ID not made permanent. Not part of equality.
  @inlinable public var isTemporaryID: Bool { bits & Self.temporaryBit != 0 }

  /// The name of the object's own entity, not of the root (rule 34).
  public var entityName: String { token.entityName }
  /// The UUID of the store the ID belongs to.
  public var storeIdentifier: UUID { token.hierarchy.storeIdentifier }

  /// The same ID, temporary or not.
  func with(isTemporary: Bool) -> ManagedObjectID {
    ManagedObjectID(
      unmanagedToken: unmanagedToken, bits: isTemporary ? bits | Self.temporaryBit : primaryKey)
  }

  private init(unmanagedToken: Unmanaged<StoreEntityToken>, bits: UInt64) {
    self.unmanagedToken = unmanagedToken
    self.bits = bits
  }

  /// An ID of no object of any store, another one each time.
  package static func ofNothing() -> ManagedObjectID {
    let nowhere = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
    return ManagedObjectID(
      token: .token(storeIdentifier: nowhere, entityName: "", entityNumber: nil, rootName: ""),
      primaryKey: UInt64.random(in: 1..<primaryKeyLimit), isTemporary: true)
  }

  /// The hierarchy's address, without counting references.
  @inlinable var hierarchyAddress: UInt64 {
    unmanagedToken._withUnsafeGuaranteedRef {
      UInt64(UInt(bitPattern: Unmanaged.passUnretained($0.hierarchy).toOpaque()))
    }
  }
}

extension ManagedObjectID: Hashable {
  @inlinable public static func == (a: ManagedObjectID, b: ManagedObjectID) -> Bool {
    (a.bits ^ b.bits) & ~temporaryBit == 0
      && (a.unmanagedToken.toOpaque() == b.unmanagedToken.toOpaque()
        || a.hierarchyAddress == b.hierarchyAddress)
  }

  @inlinable public func hash(into hasher: inout Hasher) {
    // Keys take 48 bits, and addresses differ in the lower ones: one word for the hasher instead of two.
    hasher.combine(primaryKey ^ (hierarchyAddress &<< 40))
  }
}

extension ManagedObjectID: CustomStringConvertible {
  /// The text of the URI.
  public var description: String {
    "x-coredata://\(storeIdentifier.uuidString)/\(Self.escaped(entityName))/\(keyText)"
  }

  /// The key as the URI has it.
  private var keyText: String {
    guard let spelling = IdentifierSpellings.spelling(of: storeIdentifier) else { return "p\(primaryKey)" }
    return Self.escaped(spelling.text(ofKey: primaryKey, rootName: token.hierarchy.rootName))
  }

  /// `x-coredata://<store UUID>/<entity>/p<primary key>` (rule 32), before and after the first save. Stores that name their records by references of
  /// their own, as those of the program may, have these in the place of the key.
  public func uriRepresentation() -> URL {
    // The text holds a UUID, percent-escaped names and digits, which is a URL.
    URL(string: description)!
  }

  /// Takes a URI apart; nil when it is not one of ours. Does not ask whether store, entity or object exist.
  package static func parse(uri: URL) -> (storeIdentifier: UUID, entityName: String, primaryKey: UInt64)? {
    let text = uri.absoluteString
    guard text.utf8.count <= 4_096 else { return nil }
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 5, parts[0].lowercased() == "x-coredata:", parts[1].isEmpty,
      let identifier = UUID(uuidString: String(parts[2])),
      let entityName = String(parts[3]).removingPercentEncoding, !entityName.isEmpty
    else { return nil }
    if let spelling = IdentifierSpellings.spelling(of: identifier) {
      guard let text = String(parts[4]).removingPercentEncoding,
        let key = spelling.key(ofText: text, entityName: entityName)
      else { return nil }
      return (identifier, entityName, key)
    }
    guard parts[4].utf8.first == UInt8(ascii: "p") else { return nil }
    let digits = parts[4].utf8.dropFirst()
    guard !digits.isEmpty, digits.count <= 15, digits.allSatisfy({ (48...57).contains($0) }),
      digits.count == 1 || digits.first != 48, let primaryKey = UInt64(parts[4].dropFirst()),
      primaryKey < primaryKeyLimit
    else { return nil }
    return (identifier, entityName, primaryKey)
  }

  /// A part of a URI.
  package static func escaped(_ name: String) -> String {
    name.addingPercentEncoding(withAllowedCharacters: .alphanumerics.intersection(.urlPathAllowed)) ?? name
  }
}

extension ManagedObjectID: Codable {
  /// The text of the URI.
  /// - Throws: what the encoder throws.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }

  /// Reads the text of a URI. Its store must have been opened in this process before.
  /// - Throws: `DecodingError` for a text that is no URI of an object, and for a store or entity that was not opened in this process.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let url = URL(string: text), let parts = Self.parse(uri: url) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "“\(text)” is no URI of an object")
    }
    guard
      let token = StoreEntityToken.known(
        storeIdentifier: parts.storeIdentifier, entityName: parts.entityName)
    else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "the store of “\(text)” has not been opened")
    }
    self.init(token: token, primaryKey: parts.primaryKey)
  }
}
