//! Whose a release is: its signature, and the accounts that may have made it.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::collections::BTreeMap;

use super::{Context, Report};
use crate::finding::{Code, Finding};
use crate::manifest::{Manifest, Payload};
use crate::signature::{self, Expected, Sha256Digest};
use crate::zip::Archive;

pub(super) fn check_signature(
    archive: &Archive<'_>,
    manifest: Option<&Manifest>,
    context: &Context,
    report: &mut Report,
) {
    let Some(member) = archive.member(signature::MEMBER) else {
        let message = "there is no `signature.json`";
        report.add(if context.require_signed {
            Finding::error(Code::Unsigned, message)
        } else {
            Finding::warning(Code::Unsigned, message)
        });
        return;
    };
    // What the context does not say, the manifest does: a statement is never held against nothing.
    let own_version = manifest.map(|manifest| manifest.version.to_string());
    let own_slug = manifest.and_then(|manifest| match &manifest.payload {
        Payload::ForgePack(pack) => Some(pack.id.as_str()),
        _ => None,
    });
    let expected = Expected {
        slug: context.slug.as_deref().or(own_slug),
        version: context.version.as_deref().or(own_version.as_deref()),
    };
    match signature::verify(&member.read(), expected, || digests(archive)) {
        Err(error) => {
            let finding = Finding::error(Code::BadSignature, error.message);
            report.add(finding.because(error.step.token()).in_member(signature::MEMBER));
        }
        Ok(verified) => {
            report.signer = Some(verified.key);
            check_author(&verified, context, report);
        }
    }
}

/// The digests of all members but the signature.
fn digests(archive: &Archive<'_>) -> BTreeMap<String, Sha256Digest> {
    let members = archive.members();
    members
        .filter(|member| member.name_bytes() != signature::MEMBER.as_bytes())
        .map(|member| {
            let digest = Sha256Digest::of_pieces(|sink| member.for_each_piece(sink));
            (member.name().into_owned(), digest)
        })
        .collect()
}

fn check_author(verified: &signature::Verified, context: &Context, report: &mut Report) {
    let fingerprint = verified.key.fingerprint().to_string();
    let uploader = context.uploader.as_deref();
    let mut foreign = |message: String| {
        report.error(Code::ForeignSignature, signature::MEMBER, message);
    };
    if let Some(registry) = &context.registry {
        match registry.get(&fingerprint) {
            None => foreign(format!("the key {fingerprint} is not registered")),
            Some(key) if key.revoked => foreign(format!("the key {fingerprint} was revoked")),
            Some(key) if uploader.is_some_and(|uploader| uploader != key.user) => {
                foreign(format!("the key {fingerprint} is `{}`'s", key.user));
            }
            Some(_) => {}
        }
    }
    if let (Some(author), Some(uploader)) = (verified.author_id.as_deref(), uploader)
        && author != uploader
    {
        foreign(format!("the author is `{author}`, the uploader `{uploader}`"));
    }
}
