import Foundation

/// The version hashes of entities and properties (rules 299–302).
///
/// SHA-256 over tagged, length-prefixed fields. Indexes, user info, class names, default values and renaming
/// identifiers do not count; neither do fetched properties or the order of properties, entities or constraints.
enum VersionHash {
  static func hash(of property: PropertyDescription) -> Data {
    var fields = Fields("property")
    fields.add(property.name)
    fields.add(property.isOptional)
    fields.add(property.isTransient)
    fields.add(property.versionHashModifier)
    if let attribute = property as? AttributeDescription {
      fields.add("attribute")
      fields.add(Int(attribute.attributeType.rawValue))
      addForm(of: attribute, to: &fields)
    }
    if let relationship = property as? RelationshipDescription {
      fields.add("relationship")
      fields.add(relationship.destinationEntity?.name)
      fields.add(relationship.inverseRelationship?.name)
      fields.add(relationship.minCount)
      fields.add(relationship.maxCount)
      fields.add(relationship.isOrdered)
    }
    return fields.digest()
  }

  /// How the values become bytes. Adds nothing for attributes that are neither transformable nor composite.
  private static func addForm(of attribute: AttributeDescription, to fields: inout Fields) {
    if attribute.attributeType == .transformable {
      let name = attribute.valueTransformerName
      fields.add(name.flatMap { AttributeTransformers.secureNames.contains($0) ? nil : $0 })
    }
    if let derived = attribute as? DerivedAttributeDescription {
      fields.add("derived")
      fields.add(derived.derivation?.text ?? derived.derivationExpression)
    }
    guard let composite = attribute as? CompositeAttributeDescription else { return }
    let hashes = SlotDescription.slots(of: composite).dropFirst().map { slot in
      var element = Fields("element")
      element.add(slot.name)
      // What elements a composite element has, its slots tell.
      element.add(slot.property is CompositeAttributeDescription ? nil : hash(of: slot.property))
      element.add(slot.property.isOptional)
      element.add(slot.property.versionHashModifier)
      return element.digest()
    }
    fields.add(hashes.sorted { $0.lexicographicallyPrecedes($1) })
  }

  static func hash(of entity: EntityDescription) -> Data {
    var hash: Data?
    // From the root down: each entity's hash contains its superentity's (rule 300).
    for entity in lineage(of: entity) {
      var fields = Fields("entity")
      fields.add(entity.name)
      fields.add(entity.isAbstract)
      fields.add(entity.versionHashModifier)
      fields.add(hash)
      let stored = entity.ownProperties.filter { !$0.isComputed }
      fields.add(stored.map { Self.hash(of: $0) }.sorted { $0.lexicographicallyPrecedes($1) })
      let constraints = entity.uniquenessConstraints.map { names in
        var constraint = Fields("constraint")
        for name in names.sorted() { constraint.add(name) }
        return constraint.digest()
      }
      fields.add(constraints.sorted { $0.lexicographicallyPrecedes($1) })
      hash = fields.digest()
    }
    // The lineage contains at least the entity itself.
    return hash ?? Data()
  }

  static func checksum(of hashes: [String: Data]) -> String {
    var fields = Fields("model")
    for (name, hash) in hashes.sorted(by: { AttributeValue.orderUTF8($0.key, $1.key) < 0 }) {
      fields.add(name)
      fields.add(hash)
    }
    return fields.digest().prefix(16).base64EncodedString()
  }

  /// Root first, the entity last. Stops when a malformed model leads in a circle.
  private static func lineage(of entity: EntityDescription) -> [EntityDescription] {
    var result = [entity]
    while let parent = result[result.count - 1].superentity, !result.contains(where: { $0 === parent }) {
      result.append(parent)
    }
    return result.reversed()
  }

  private struct Fields {
    private var bytes: [UInt8] = []

    init(_ tag: String) { add(tag) }

    mutating func add(_ text: String?) {
      guard var text else { return bytes.append(0) }
      text.withUTF8 { add(UnsafeRawBufferPointer($0)) }
    }
    mutating func add(_ flag: Bool) { add(flag ? 1 : 0) }
    mutating func add(_ number: Int) { add(String(number)) }
    mutating func add(_ items: [Data]) {
      add(items.count)
      for item in items { add(item) }
    }
    mutating func add(_ data: Data?) {
      guard let data else { return bytes.append(0) }
      data.withUnsafeBytes { add($0) }
    }
    private mutating func add(_ field: UnsafeRawBufferPointer) {
      bytes.append(1)
      withUnsafeBytes(of: UInt32(field.count).littleEndian) { bytes.append(contentsOf: $0) }
      bytes.append(contentsOf: field)
    }

    func digest() -> Data { Data(SHA256.digest(of: bytes)) }
  }
}

/// FIPS 180-4. Foundation has no hash function on Linux, and this one runs a few times per model.
///
/// Pointers, `while` and shifts by masked counts: without optimization, as in the tests of programs, where models are made all the
/// time, arrays, ranges and checked shifts take ten times as long.
package enum SHA256 {
  package static func digest(of message: [UInt8]) -> [UInt8] {
    var padded = message
    padded.append(0x80)
    padded.append(contentsOf: repeatElement(0, count: (120 - padded.count % 64) % 64))
    withUnsafeBytes(of: UInt64(message.count * 8).bigEndian) { padded.append(contentsOf: $0) }
    var state = initial
    state.withUnsafeMutableBufferPointer { state in
      padded.withUnsafeBytes { bytes in
        constants.withUnsafeBufferPointer { constants in
          withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 64) { schedule in
            // None of the four is empty.
            let (state, constants) = (state.baseAddress!, constants.baseAddress!)
            let schedule = schedule.baseAddress!
            var start = 0
            while start < bytes.count {
              expand(bytes, from: start, to: schedule)
              compress(schedule, constants, into: state)
              start &+= 64
            }
          }
        }
      }
    }
    return state.flatMap { word in withUnsafeBytes(of: word.bigEndian) { Array($0) } }
  }

  /// The 64 words of the block of 64 bytes at `start`.
  private static func expand(
    _ bytes: UnsafeRawBufferPointer, from start: Int, to schedule: UnsafeMutablePointer<UInt32>
  ) {
    var i = 0
    while i < 16 {
      let word = bytes.loadUnaligned(fromByteOffset: start &+ i &* 4, as: UInt32.self)
      schedule[i] = UInt32(bigEndian: word)
      i &+= 1
    }
    while i < 64 {
      let w15 = schedule[i &- 15]
      let w2 = schedule[i &- 2]
      let s0 = rotate(w15, 7) ^ rotate(w15, 18) ^ (w15 &>> 3)
      let s1 = rotate(w2, 17) ^ rotate(w2, 19) ^ (w2 &>> 10)
      schedule[i] = schedule[i &- 16] &+ s0 &+ schedule[i &- 7] &+ s1
      i &+= 1
    }
  }

  private static func compress(
    _ schedule: UnsafeMutablePointer<UInt32>, _ constants: UnsafePointer<UInt32>,
    into state: UnsafeMutablePointer<UInt32>
  ) {
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    var i = 0
    while i < 64 {
      let s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
      let choice = (e & f) ^ (~e & g)
      let t1 = h &+ s1 &+ choice &+ constants[i] &+ schedule[i]
      let s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
      let majority = (a & b) ^ (a & c) ^ (b & c)
      h = g
      g = f
      f = e
      e = d &+ t1
      d = c
      c = b
      b = a
      a = t1 &+ s0 &+ majority
      i &+= 1
    }
    state[0] &+= a
    state[1] &+= b
    state[2] &+= c
    state[3] &+= d
    state[4] &+= e
    state[5] &+= f
    state[6] &+= g
    state[7] &+= h
  }

  private static func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 {
    word &>> count | word &<< (32 &- count)
  }

  private static let initial: [UInt32] = [
    0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
  ]

  private static let constants: [UInt32] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
  ]
}
